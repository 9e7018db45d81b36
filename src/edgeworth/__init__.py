"""How much privacy is left: certified f-differential-privacy accounting."""
