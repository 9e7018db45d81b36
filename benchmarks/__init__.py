"""Measurements, each a ratio against a baseline in the same run. `make bench` runs them all."""
