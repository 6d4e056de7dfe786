"""Stores by subject; what needs several processes is in tests/processes."""
