"""What the benchmarks say about themselves."""
