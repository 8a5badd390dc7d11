"""What 16-precision needs around its exercises."""
