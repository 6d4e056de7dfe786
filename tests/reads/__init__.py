"""What a compile looked at."""
