"""Shared caches, each subject with small servers in threads; real ones are in tests/processes."""
