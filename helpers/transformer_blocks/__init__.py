"""What 07-transformer-blocks needs around its exercises."""
