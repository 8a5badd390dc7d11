"""What 15-kernels needs around its exercises."""
