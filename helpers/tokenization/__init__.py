"""What 06-tokenization needs around its exercises."""
