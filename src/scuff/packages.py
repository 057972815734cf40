"""Packages that only some commands need: what is missing is said before anything starts."""

from __future__ import annotations

from importlib.util import find_spec

EXTRAS = {
    "report": ("jinja2", "plotly"),
    "models": ("torchvision", "timm", "onnxruntime"),
    "hf": ("datasets",),
    "cluster": ("ray",),
    "s3": ("s3fs",),
    "detection": ("pycocotools",),
    "maite": ("maite",),
    "explore": ("starlette", "uvicorn"),
    "figures": ("playwright",),
    "mlflow": ("mlflow",),
}


def need(what: str, *packages: str) -> None:
    """Refuse to begin `what` without packages that it will need. Nothing is imported for that.

    >>> need("a doctest", "torch")
    >>> need("a doctest", "no_such_package")
    Traceback (most recent call last):
    ValueError: a doctest needs the package no_such_package, which is not installed; run pip install no_such_package
    """
    missing = [package for package in packages if find_spec(package) is None]
    if not missing:
        return
    extras = [f'"scuff[{extra}]"' for extra, members in EXTRAS.items() if not set(members).isdisjoint(missing)]
    plural, are = ("s", "are") if len(missing) > 1 else ("", "is")
    raise ValueError(
        f"{what} needs the package{plural} {' and '.join(missing)}, which {are} not installed; run pip install "
        f"{' '.join(extras or missing)}"
    )
