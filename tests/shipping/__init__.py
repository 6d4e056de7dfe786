"""Kernels inside wheels."""
