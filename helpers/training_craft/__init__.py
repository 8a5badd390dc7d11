"""What 13-training-craft needs around its exercises."""
