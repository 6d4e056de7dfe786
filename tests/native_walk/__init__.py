"""Tests of the native walk of fingerprints."""
