"""The walk of fingerprints as machine code, written in the systems dialect."""
