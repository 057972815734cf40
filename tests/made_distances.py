"""Results for tests of reports of transform space: numbers by simple laws, in folders as the four studies leave them.

A scheme is near to a corruption if it has operations of the right kind, and a network errs less the nearer its scheme
is; but not on brightness, where distance says nothing. So correlations are high and one is not, as in the paper.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

import scuff
from scuff.augment import powerset
from scuff.design import Dissimilar
from scuff.metrics import Distances, scheme_correlations
from scuff.store import Store, save_settings, write_arrays
from scuff.studies import CorrelationStudy, DissimilarStudy, DistancesStudy, MixingStudy, SubsetsStudy
from scuff.studies.transform_space.dissimilar import NUMBERS
from scuff.suites import load_suite
from scuff.training.recipes import RECIPES

NAMED = ("none", "augmix", "autoaugment", "patch-gaussian", "gaussian:0.1")
UNRELATED = "cifar10-c/brightness"  # the corruption on which distance says nothing of errors
ENVIRONMENT = {"environment": {"python": "3.11.2", "torch": "2.13.0"}, "scuff": scuff.__version__}


class Network:
    """A model that was given as an object, and is known by its name only."""

    def __init__(self, name: str):
        self.name = name


PLACES = ("cifar10-c", "cifar10:data", "runs/before")
OPTIONS = {"recipe": "cifar-fast", "extractor": Network("wrn")}


def make_distances(
    subsets: int = 12,
    named: Sequence[str] = NAMED,
    corruptions: int = 15,
    severities: int = 5,
    resamplings: int = 1,
    first: int = 0,
) -> Distances:
    """Distances of some subsets of the nine operations, and of schemes with names, to corruptions of cifar10-c."""
    random = np.random.default_rng(first)
    schemes = (*named, *(powerset(subsets) if subsets else ()))
    entries = load_suite("cifar10-c").benchmark()[:corruptions]
    cells = tuple((f"cifar10-c/{entry}", level) for entry in entries for level in range(1, severities + 1))
    reach = random.uniform(0.3, 1.0, (len(schemes), len(entries), 1))
    far = random.uniform(0.5, 3.0, (len(entries), 1)) * np.linspace(0.6, 1.4, severities)
    noise = 1 + 0.05 * random.normal(size=(resamplings, len(schemes), len(entries), severities))
    shape = (resamplings, len(schemes), len(cells))
    msd = (reach * far * noise).reshape(shape)
    mmd = msd + random.uniform(0.2, 2.0, shape[1:])
    return Distances(schemes, cells, msd, mmd)


def make_errors(distances: Distances, seeds: int = 2, first: int = 0) -> pd.DataFrame:
    """Errors that rise with the MSD, but for one corruption; and those on clean images."""
    random = np.random.default_rng(first)
    frame = distances.to_frame()
    means = frame.groupby(["scheme", "corruption", "severity"], sort=False)["msd"].mean().reset_index()
    highest = means.groupby(["corruption", "severity"])["msd"].transform("max")
    related = 0.1 + 0.4 * means.pop("msd") / highest
    parts = []
    for seed in range(seeds):
        errors = related + 0.02 * random.normal(size=len(means))
        errors = errors.where(means["corruption"] != UNRELATED, 0.1 + 0.05 * random.uniform(size=len(means)))
        clean = pd.DataFrame({"scheme": distances.schemes, "seed": seed, "corruption": "clean", "severity": 0})
        clean["error"] = 0.05 + 0.01 * random.uniform(size=len(clean))
        parts += [clean, means.assign(seed=seed, error=errors.clip(0, 1))]
    return pd.concat(parts, ignore_index=True)[["scheme", "seed", "corruption", "severity", "error"]]


def make_correlations(distances: Distances, errors: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """What a study finds, with few resamples."""
    return {kind: scheme_correlations(distances, errors, distance=kind, resamples=200) for kind in ("msd", "mmd")}


def made_settings(distances: Distances) -> dict:
    """What a study of distances would have written down."""
    suite = load_suite("cifar10-c")
    named = [scheme for scheme in distances.schemes if not scheme.startswith("powerset:")]
    powersets = [f"powerset-{len(distances.schemes) - len(named)}"] if len(named) < len(distances.schemes) else []
    study = DistancesStudy([*named, *powersets], *PLACES, extractor=Network("wrn"))
    levels: dict[str, list[int]] = {}
    for address, level in distances.cells:
        levels.setdefault(address.rpartition("/")[2], []).append(level)
    return {
        "data": "cifar10:data",
        "data_fingerprint": "0123456789abcdef",
        "suite": suite.to_dict(),
        "levels": levels,
        "schemes": {name: {"scheme": name.partition(":")[0]} for name in distances.schemes},
        "extractor": {"name": "wrn", "fingerprint": "fedcba9876543210"},
        "images": 100,
        "samples": 100,
        "augmentations": 10_000,
        "resamplings": distances.resamplings,
        "sampling": "independent",
        "seed": 0,
        "precision": "float32",
        "device": "cpu",
        "options": study.options(),
        **ENVIRONMENT,
    }


def made_training(seeds: int = 2) -> dict:
    """What a study that trains networks adds to it."""
    recipe = {"name": "cifar-fast", **RECIPES["cifar-fast"].settings()}
    options = CorrelationStudy("powerset-12", *PLACES, seeds=seeds, **OPTIONS).options()
    settings = {"recipe": recipe, "limit": None, "seeds": list(range(seeds)), "options": options}
    return json.loads(json.dumps(settings))


def make_subsets(seeds: int = 3, sizes: Sequence[int] = (1, 10, 100, 1000), with_all: bool = True) -> pd.DataFrame:
    """Few closest transforms are as good as all, many random ones are, and farthest ones never."""
    random = np.random.default_rng(0)
    law = {"closest": (0.05, 0.108), "random": (0.1, 0.115), "farthest": (0.1, 0.17)}
    rows = [
        (kind, size, seed, 0.05 + 0.02 / size, least + rise / size**0.7 + 0.001 * random.normal())
        for kind, (rise, least) in law.items()
        for size in sizes
        for seed in range(seeds)
    ]
    rows += [("all", 0, seed, 0.05, 0.12 + 0.0001 * seed) for seed in range(seeds)] if with_all else []
    return pd.DataFrame(rows, columns=["kind", "size", "seed", "clean_error", "error"])


def make_mixing(seeds: int = 2) -> pd.DataFrame:
    """MMD is proportional to the share, MSD and error are not."""
    shares = (0.0, 0.5, 0.9, 0.99, 1.0)
    rows = [
        (
            share,
            0.1 + 2 * share,
            {1.0: 1.8, 0.99: 0.15}.get(share, 0.1),
            seed,
            error + 0.002 * seed,
            0.06 + 0.01 * share,
        )
        for share, error in zip(shares, (0.08, 0.085, 0.1, 0.14, 0.45), strict=True)
        for seed in range(seeds)
    ]
    return pd.DataFrame(rows, columns=["share", "mmd", "msd", "seed", "error", "clean_error"])


def make_dissimilar(repetitions: int = 3, benchmarks: int = 2000, size: int = 10) -> Dissimilar:
    """A benchmark of the candidates with the largest made-up shifts."""
    random = np.random.default_rng(0)
    names = [f"c-bar-candidates-32/{entry}" for entry in load_suite("c-bar-candidates-32").entries]
    each = np.linspace(1.6, -1.4, len(names)) + 0.15 * random.normal(size=(repetitions, len(names)))
    shifts = pd.DataFrame({"corruption": names, "shift": each.mean(axis=0)})
    shifts["sd"] = each.std(axis=0, ddof=1) if repetitions > 1 else np.nan
    shifts = shifts.sort_values("shift", ascending=False, kind="stable", ignore_index=True)
    shifts["chosen"] = shifts.index < size
    members = tuple(sorted(shifts["corruption"][:size]))
    picks = pd.DataFrame(
        [
            (name, level, 2 * level - 1, 0.1 + 0.06 * level, 2.0 + 0.1 * level + 0.01 * place)
            for place, name in enumerate(members)
            for level in range(1, 6)
        ],
        columns=["corruption", "level", "severity", "error", "distance"],
    )
    distances = random.normal(1.6, 0.2, (repetitions, benchmarks))
    errors = random.normal(0.269, 0.001, (repetitions, benchmarks))
    found = picks["distance"].mean()
    return Dissimilar(members, shifts, picks, 0.269, 0.2691, found, 0, errors, distances, (0.5,), (9000,) * 3, 142_506)


def made_dissimilar_settings() -> dict:
    """What `scuff design dissimilar` would have written down."""
    reference, candidates = (load_suite(name) for name in ("cifar10-c", "c-bar-candidates-32"))
    levels = {
        role: {e: list(suite.levels(e)) for e in suite.benchmark()}
        for role, suite in (("reference", reference), ("candidate", candidates))
    }
    networks = {key: {name: Network(name) for name in (f"{key[0]}0", f"{key[0]}1")} for key in ("models", "extractors")}
    study = DissimilarStudy(reference, candidates, *PLACES[1:], benchmarks=2000, **networks)
    return {
        "reference": reference.to_dict(),
        "candidates": candidates.to_dict(),
        "levels": levels,
        "data": "cifar10:data",
        "test": None,
        "test_images": 10_000,
        "models": [{"name": name, "fingerprint": name} for name in ("a0", "a1", "a2")],
        "extractors": [{"name": name, "fingerprint": name} for name in ("b0", "b1", "b2")],
        "images": 100,
        "samples": 100,
        "sampling": "independent",
        "size": 10,
        "tolerance": 0.01,
        "benchmarks": 2000,
        "spread": None,
        "name": "dissimilar",
        "seed": 0,
        "precision": "float32",
        "options": study.options(),
        **ENVIRONMENT,
    }


def save_distances(folder: Path, distances: Distances, errors: pd.DataFrame | None = None) -> Path:
    """Write what `scuff distance schemes` leaves in a folder, or with errors, `scuff distance correlation`."""
    store = Store(folder)
    save_settings(store, "distances.json", made_settings(distances))
    save_table(store, "distances.csv", distances.to_frame())
    if errors is not None:
        save_settings(store, "trials.json", made_training())
        save_table(store, "errors.csv", errors)
        for kind, table in make_correlations(distances, errors).items():
            save_table(store, "correlations.csv" if kind == "msd" else f"correlations-{kind}.csv", table)
    return folder


def save_subsets(folder: Path, table: pd.DataFrame) -> Path:
    """Write what `scuff distance subsets` leaves in a folder."""
    store = Store(folder)
    settings = made_settings(make_distances(0, ("augmix",))) | made_training() | {"sizes": [1, 10, 100, 1000]}
    options = SubsetsStudy("augmix", *PLACES, sizes=(1, 10, 100, 1000), **OPTIONS).options()
    save_settings(store, "subsets.json", settings | {"kinds": ["closest", "random", "farthest"], "options": options})
    save_table(store, "subsets.csv", table)
    return folder


def save_mixing(folder: Path, table: pd.DataFrame) -> Path:
    """Write what `scuff distance mixing` leaves in a folder, which is also one of distances."""
    distances = make_distances(0, [f"share-{share:g}" for share in table["share"].unique()], 3, 1)
    save_distances(folder, distances)
    own = {"right": "cifar10-c/impulse_noise", "other": "cifar10-c/motion_blur", "severity": 3}
    settings = made_settings(distances) | made_training() | own | {"shares": table["share"].unique().tolist()}
    options = MixingStudy(own["right"], own["other"], *PLACES[1:], **OPTIONS).options()
    save_settings(Store(folder), "mixing.json", settings | {"options": options})
    save_table(Store(folder), "mixing.csv", table)
    return folder


def save_dissimilar(folder: Path, found: Dissimilar) -> Path:
    """Write what `scuff design dissimilar` leaves in a folder, as far as it is read again."""
    store = Store(folder)
    save_settings(
        store, "dissimilar.json", made_dissimilar_settings() | {"result": {k: getattr(found, k) for k in NUMBERS}}
    )
    save_table(store, "shifts.csv", found.shifts)
    save_table(store, "members.csv", found.picks)
    write_arrays(store, "candidates.npz", {"error": found.candidate_errors, "distance": found.candidate_distances})
    return folder


def save_table(store: Store, name: str, table: pd.DataFrame) -> None:
    """Write a table as studies do."""
    store.write(name, table.to_csv(index=False).encode())
