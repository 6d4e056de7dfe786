"""Doors for programs that were written for other compilers: exchange one import."""
