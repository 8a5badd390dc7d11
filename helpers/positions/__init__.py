"""What 08-positions needs around its exercises."""
