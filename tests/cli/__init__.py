"""The commands, in this process."""
