"""What holds from one process to another, checked in real processes."""
