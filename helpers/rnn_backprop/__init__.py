"""What 02-rnn-backprop needs around its exercises."""
