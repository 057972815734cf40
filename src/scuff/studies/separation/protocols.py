"""The experiments of the paper on class separation, as arguments of `scuff.studies.mscr`."""

from __future__ import annotations

import difflib
from typing import Any

_PLANE = (0, 0.001, 0.002, "1x", 0.007, 0.01, 0.015, 0.02, 0.03)
_FINE = (0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1, "1x", 0.125, 0.15, 0.175, 0.2)

PROTOCOLS: dict[str, dict[str, Any]] = {
    # Table 2 and figure 5: data in two dimensions
    "paper-2d": {
        "models": ["random-forest", "1-nn"],
        "train_noise": _PLANE,
        "test_noise": _PLANE,
        "copies": 10,
        "runs": 1200,
        "offsets": "shared",
    },
    # Figure 4: the effect of the number of copies; its caption has a radius of 0.001, the notebook epsilon_min
    "paper-copies": {
        "models": ["random-forest"],
        "train_noise": ("1x",),
        "test_noise": ("1x",),
        "copies": (1, 2, 3, 5, 8, 10, 15, 20, 30, 40, 50),
        "runs": 300,
        "offsets": "shared",
    },
    # Table 3 and figure 7: CIFAR-10
    "paper-cifar10": {
        "models": ["recipe:cifar-separation"],
        "train_noise": (0, 0.01, 0.02, 0.03, 0.05, 0.07, "1x", 0.15),
        "test_noise": _FINE,
        "copies": 1,
        "runs": 20,
    },
}


def find_protocol(name: str) -> dict[str, Any]:
    """The arguments of an experiment by its name."""
    if name not in PROTOCOLS:
        near = difflib.get_close_matches(name, PROTOCOLS, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(PROTOCOLS)}"
        raise ValueError(f"no protocol is called {name!r}; {hint}")
    return dict(PROTOCOLS[name])
