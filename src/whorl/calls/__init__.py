"""What kernels and cached functions both need around a call: binding, events, explanations."""
