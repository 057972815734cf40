"""Shared by all tests."""

import torch

collect_ignore = [] if torch.cuda.is_available() else ["test_gpu.py"]
