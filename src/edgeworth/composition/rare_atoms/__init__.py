"""Samples of discrete noise at tiny rates, or in very great numbers: rare outcomes merged, or runs sorted by them."""
