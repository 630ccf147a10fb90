"""Tells birsim that this package only forwards to it."""
