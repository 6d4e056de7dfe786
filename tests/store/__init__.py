"""Stores, one file per module; what needs several processes is in tests/processes."""
