"""What 05-logit-bias needs around its exercises."""
