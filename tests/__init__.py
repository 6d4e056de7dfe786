"""Tests, importable by their full names."""
