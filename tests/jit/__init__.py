"""The pipeline of a call, with small compilers."""
