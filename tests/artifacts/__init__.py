"""Entries and what is in them, one file per module."""
