"""What an installation has and lacks: versions, devices, caches and optional parts, fit for an issue report."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

import scuff
from scuff.digests import cache_folder
from scuff.packages import EXTRAS
from scuff.plugins import load_installed, own_parts, plugin_files
from scuff.words import count, listed

PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "numba", "pandas", "pyarrow", "pillow", "typer", "fsspec")
GAINS = {  # what an extra adds
    "report": "scuff report and all pages",
    "models": "models of torchvision and timm, and ONNX files",
    "hf": "data of the form hf:DIR",
    "cluster": "--engine ray",
    "s3": "folders like s3://bucket/out",
    "detection": "scores of detectors (AP)",
    "maite": "tasks of MAITE on corrupted data",
    "explore": "scuff explore",
    "figures": "scuff export --as svg, png and pdf",
    "mlflow": "scuff export --as mlflow",
}
VARIABLES = (  # which change what happens; others may hold secrets
    *("CUDA_VISIBLE_DEVICES", "HF_HOME", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "NUMBA_NUM_THREADS"),
    *("OMP_NUM_THREADS", "TORCH_HOME", "XDG_CACHE_HOME"),
)
TRIAL = ("imagenet-c/frost", "imagenet-c/gaussian_noise", "imagenet-c/jpeg_compression")

Fact = tuple[str, str]


def diagnose() -> dict[str, list[Fact]]:
    """Facts by section. Nothing here raises: what cannot be found out is said to be so."""
    sections = {
        "scuff": _versions(),
        "machine": _machine(),
        "packages": ((name, _version(name) or "missing") for name in PACKAGES),
        "optional parts": ((extra, _parts(extra)) for extra in EXTRAS),
        "caches": _caches(),
        "plug-ins": _plugins(),
        "environment": ((name, _at_home(os.environ[name])) for name in VARIABLES if name in os.environ),
        "trial": _trial(),
    }
    found = {title: list(_as_far_as_possible(facts)) for title, facts in sections.items()}
    return {title: facts for title, facts in found.items() if facts}


def _as_far_as_possible(facts: Iterable[Fact]) -> Iterator[Fact]:
    try:
        yield from facts
    except Exception as error:  # a torch that cannot be imported, for one, is what is asked about
        yield "the rest", f"FAILED: {type(error).__name__}: {error}"


def missing_parts() -> dict[str, str]:
    """The extras that are not installed, or not wholly, and what they would add."""
    lacking = [extra for extra, packages in EXTRAS.items() if not all(map(_version, packages))]
    return {extra: GAINS.get(extra, listed(EXTRAS[extra])) for extra in lacking}


def _versions() -> Iterator[Fact]:
    yield "version", scuff.__version__
    yield "place", _at_home(str(Path(scuff.__file__).parent))
    yield "Python", f"{platform.python_version()} ({_at_home(sys.executable)})"
    yield "system", platform.platform()


def _machine() -> Iterator[Fact]:
    import torch

    from scuff.kernels.dispatch import backend_name
    from scuff.memory import available_memory

    yield "processors", f"{os.cpu_count()} ({platform.processor() or platform.machine()})"
    yield "threads of torch", str(torch.get_num_threads())
    yield "free memory", f"{available_memory() / 2**30:.1f} GiB"
    yield "kernels on cpu", backend_name(torch.device("cpu"))
    for number in range(torch.cuda.device_count()):
        about = torch.cuda.get_device_properties(number)
        kernels = backend_name(torch.device("cuda", number))
        yield f"cuda:{number}", f"{about.name}, {about.total_memory / 2**30:.0f} GiB, kernels {kernels}"
    if not torch.cuda.device_count():
        yield "CUDA", f"no device; torch was built for {torch.version.cuda or 'processors only'}"


def _plugins() -> Iterator[Fact]:
    load_installed()
    yield from ((file, "loaded") for file in plugin_files())
    for kind, parts in own_parts().items():
        yield kind, ", ".join(f"{name} ({module})" for name, module in parts.items())


def _parts(extra: str) -> str:
    return listed([f"{package} {_version(package) or 'missing'}" for package in EXTRAS[extra]])


def _caches() -> Iterator[Fact]:
    import torch

    compiled = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(scuff.__file__).parent)
    folders = {"digests of files": cache_folder(), "weights of torchvision": Path(torch.hub.get_dir())}
    folders["weights of timm"] = Path(os.environ.get("HF_HOME") or "~/.cache/huggingface").expanduser()
    yield (
        "compiled kernels",
        f"{count(sum(1 for _ in compiled.rglob('*.nbi')), 'function')} in {_at_home(str(compiled))}",
    )
    for name, folder in folders.items():
        files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
        size = sum(path.stat().st_size for path in files) / 1e6
        yield name, f"{count(len(files), 'file')}, {size:.1f} MB in {_at_home(str(folder))}" if files else "none"


def _trial() -> Iterator[Fact]:
    """A picture through a few corruptions on every device, which must give the bytes that plain torch gives."""
    import torch

    from scuff.door import corrupt
    from scuff.kernels.dispatch import backend_name, use_backend
    from scuff.pictures import bundled_picture

    picture = bundled_picture().resize((64, 64))
    pixels = torch.frombuffer(bytearray(picture.tobytes()), dtype=torch.uint8).reshape(64, 64, 3).permute(2, 0, 1)
    for device in ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]:
        try:
            with use_backend("reference"):
                wanted = [corrupt(pixels, name, 3) for name in TRIAL]
            with use_backend(backend_name(torch.device(device))):
                made = [corrupt(pixels.to(device), name, 3).cpu() for name in TRIAL]
            agrees = all(torch.equal(a, b) for a, b in zip(made, wanted, strict=True))
            yield device, f"{len(TRIAL)} corruptions, " + ("all as they should be" if agrees else "WRONG PIXELS")
        except Exception as error:  # whatever is broken is what is asked about
            yield device, f"FAILED: {type(error).__name__}: {error}"


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _at_home(path: str) -> str:
    """A path without the name of its user."""
    home = str(Path.home())
    return path.replace(home, "~") if len(home) > 1 else path
