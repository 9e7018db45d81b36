"""Samples of discrete noise at tiny rates, many or few: rare outcomes merged, runs sorted by them, or listed."""
