"""Recorded calls, and compiles of them elsewhere."""
