"""Surprises, stated and pinned."""
