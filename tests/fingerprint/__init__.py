"""The digest of each kind of value, one file per kind."""
