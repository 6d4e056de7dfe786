"""What whorl offers to the tests of its users."""
