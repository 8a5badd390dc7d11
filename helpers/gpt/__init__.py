"""What 09-gpt needs around its exercises."""
