"""What 03-attention needs around its exercises."""
