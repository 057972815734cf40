"""Shared by all tests: what cannot run on this machine is not collected, instead of being skipped in silence."""

import importlib.util

import torch

collect_ignore = []
if not torch.cuda.is_available():
    collect_ignore.append("test_gpu.py")
if importlib.util.find_spec("torchvision") is None:
    collect_ignore.append("test_torchvision.py")


def pytest_report_header() -> str:
    """Say what was left out."""
    return f"not collected on this machine: {', '.join(collect_ignore) or 'nothing'}"
