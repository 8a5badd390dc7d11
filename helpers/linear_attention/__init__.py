"""What 04-linear-attention needs around its exercises."""
