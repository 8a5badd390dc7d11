"""What 14-fine-tuning needs around its exercises."""
