"""What 10-attention-experiments needs around its exercises."""
