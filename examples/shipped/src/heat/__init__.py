"""Heat in a plate: three kernels that a wheel ships compiled."""

from heat.solver import diffuse, largest, smoothed

__all__ = ["diffuse", "largest", "smoothed"]
