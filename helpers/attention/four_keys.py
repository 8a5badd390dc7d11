"""The four keys that the attention exercises look things up with: almost, but not quite, of length one."""

import torch

KEYS = torch.tensor([[0.47, 0.65, 0.60], [0.64, 0.50, -0.59], [-0.03, -0.48, -0.88], [0.43, -0.83, 0.35]])
