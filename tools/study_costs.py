"""What studies cost at the size of ImageNet, measured on this machine by what `--dry-run` measures.

    python tools/study_costs.py --csv docs/results/costs.csv --markdown docs/costs.md
    python tools/study_costs.py --only overlap-38,mscr --pictures PHOTOS --csv costs.csv
    python tools/study_costs.py --device cpu --quick

Folders are made that are as large as ImageNet's, of links to a few pictures: photos of `--pictures`, or random ones
whose spectrum falls as that of photos does. Every study is planned in full on them, and its cost estimated as its
command does. Each line is printed and written as soon as it is measured. Lines of studies that were measured before
stay in the CSV file, unless they are measured again.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from PIL import Image

from scuff.cli.jobs import show_bytes
from scuff.data import Points, open_source
from scuff.engine.cost import Estimate, StudyCost
from scuff.environment import find_device
from scuff.evaluation import plan_evaluation
from scuff.evaluation.cost import Tests
from scuff.evaluation.tasks import MODELS, Task
from scuff.export import estimate, plan_export
from scuff.files import write_by_rename
from scuff.models import Classifier, build
from scuff.models.checkpoint import IMAGENET
from scuff.pictures import Cut, find_pictures
from scuff.studies import DistancesStudy, MscrStudy, OverlapStudy
from scuff.studies.cost import Trials, training_cell
from scuff.studies.separation.study import find_protocol
from scuff.suites import load_suite
from scuff.training import find_recipe
from scuff.words import show_duration

BEGIN, END = "<!-- costs: begin (written by tools/study_costs.py) -->", "<!-- costs: end -->"
PICTURES, SIZE = 256, (500, 375)  # that links point to, and how large ImageNet's are on average
FOLDERS = {  # images and classes
    "train": (126_689, 100),
    "test": (5_000, 100),
    "val": (50_000, 1000),
    "classes": (1000, 1000),
}
GPUS = 8
CIFAR_EPSILON = 27 / 255  # half the separation of CIFAR-10
NOC = ("noc-candidates", "imagenet-c")
# Of those for 224 pixels; c-bar-candidates-224 have ten severities, and cannot be in one study with others.
STILL = (*NOC, "imagenet-c-bar", "syn2nat-candidates", "noc-candidates-early")
CORRUPTIONS = 130
TRAININGS: tuple[tuple[str, dict[str, str]], ...] = (
    ("imagenet-resnet50", {}),
    ("imagenet-resnet50", {"suite": "imagenet-c"}),
    ("imagenet-resnet50", {"augment": "autoaugment:imagenet"}),
    ("imagenet-resnet50", {"augment": "augmix-jsd:severity=1,whole=true"}),
    ("imagenet-fast", {}),
)
LEADERBOARDS = ("imagenet-c", "imagenet-c-bar", "imagenet-noc", "imagenet-syn2nat")

Line = tuple[str, str, StudyCost]  # a study, what it is of, and what it costs


@dataclass(frozen=True)
class Scale:
    """How large everything is: as ImageNet, or small enough for a smoke test. Folders are made when they are needed."""

    root: Path
    device: torch.device
    is_quick: bool
    photos: str | None = None

    @property
    def imagenet(self) -> int:
        return 600 if self.is_quick else 1_281_167

    @cached_property
    def pictures(self) -> list[Path]:
        """The files that links point to."""
        if self.photos is not None:
            folder = Path(self.photos).resolve()
            return [folder / name for name in find_pictures(folder)[:PICTURES]]
        folder = self.root / "pictures"
        folder.mkdir()
        files = [folder / f"{number}.jpg" for number in range(8 if self.is_quick else PICTURES)]
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda k: make_picture(k).save(files[k], quality=90), range(len(files))))
        return files

    def folder(self, name: str) -> str:
        """The address of one of FOLDERS."""
        folder = self.root / name
        if not folder.exists():
            images, classes = FOLDERS[name]
            make_folder(folder, self.pictures, *((100, 20) if self.is_quick else (images, classes)))
        return f"folder:{folder}"

    def few(self, names: Sequence[str]) -> list[str] | None:
        """All of a suite, or two of it."""
        return list(names)[:2] if self.is_quick else None


# --- pictures --------------------------------------------------------------------------------------------------------


def make_picture(seed: int) -> Image.Image:
    """A random picture whose amplitudes fall with frequency, as those of photos do, in colours that go together."""
    random = np.random.default_rng(seed)
    width, height = SIZE
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None])
    frequency[0, 0] = np.inf
    planes = []
    for _ in range(3):
        phases = np.exp(2j * np.pi * random.random(frequency.shape))
        plane = np.fft.irfft2(phases / frequency**1.2, s=(height, width))
        planes.append(plane / plane.std())
    grey, *colours = planes
    mixed = [grey, *(0.9 * grey + 0.3 * colour for colour in colours)]
    return Image.fromarray(np.clip(120 + 55 * np.stack(mixed, axis=-1), 0, 255).astype(np.uint8))


def make_folder(folder: Path, pictures: Sequence[Path], images: int, classes: int) -> None:
    """A folder of links to pictures, in turn."""
    for number in range(classes):
        (folder / f"n{number:04}").mkdir(parents=True)
    for number in range(images):
        file = pictures[number % len(pictures)]
        os.symlink(file, folder / f"n{number % classes:04}" / f"{number:07}{file.suffix}")


# --- studies ---------------------------------------------------------------------------------------------------------


def overlap_38(scale: Scale) -> Iterator[Line]:
    """The candidates of NOC and ImageNet-C, as in the paper."""
    cost, corruptions = _overlap(scale, NOC, 3)
    yield "overlap", f"{corruptions} corruptions, ImageNet-100, 3 seeds", cost


def overlap_all(scale: Scale) -> Iterator[Line]:
    """All corruptions that suites have."""
    cost, corruptions = _overlap(scale, STILL, 5)
    yield "overlap", f"{corruptions} corruptions (all of the suites for 224 pixels), ImageNet-100, 5 seeds", cost
    if not scale.is_quick and corruptions != CORRUPTIONS:
        trained, tested = CORRUPTIONS / corruptions, (CORRUPTIONS / corruptions) ** 2
        words = f"{CORRUPTIONS} corruptions (in proportion to {corruptions}), ImageNet-100, 5 seeds"
        yield "overlap", words, _scaled(cost, {"train": trained, "test": tested})


def overlap_40(scale: Scale) -> Iterator[Line]:
    """The candidates of Syn2Nat, with random crops, as in the paper."""
    cost, corruptions = _overlap(scale, ("syn2nat-candidates",), 3, "imagenet-100-crop")
    yield "overlap", f"{corruptions} corruptions, ImageNet-100 with random crops, 3 seeds", cost


def _overlap(scale: Scale, suites: Sequence[str], seeds: int, recipe: str = "imagenet-100") -> tuple[StudyCost, int]:
    few = ["imagenet-c/fog", "noc-candidates/border", "syn2nat-candidates/flip", "syn2nat-candidates/blur"]
    only = [address for address in few if address.split("/")[0] in suites] if scale.is_quick else None
    plan = OverlapStudy(
        suites,
        scale.folder("train"),
        scale.root / "out",
        recipe=recipe,
        test=scale.folder("test"),
        only=only,
        seeds=seeds,
        device=scale.device,
    ).plan()
    return plan.cost(), len(plan.work.tested_on)


def _scaled(cost: StudyCost, factors: dict[str, float]) -> StudyCost:
    """A study with more cells of each kind, whatever their whole number is."""
    parts = tuple(replace(part, cells=part.cells * factors[part.kind]) for part in cost.parts)
    return StudyCost(parts, cost.machine, cost.warm_up)


def trainings(scale: Scale) -> Iterator[Line]:
    """One network on all classes, by each recipe and with what the papers train with.

    A training's time depends on the number of images alone, so a few are enough, each many times; and steps that
    several trainings have in common are timed once.
    """
    source = open_source(scale.folder("classes"))
    source = source.take(np.arange(scale.imagenet) % len(source))
    trials = Trials(Estimate(scale.device, threads=1))
    for recipe, treated in TRAININGS[: 1 if scale.is_quick else None]:
        chosen = replace(find_recipe(recipe), epochs=1, batch_size=8) if scale.is_quick else recipe
        cell = training_cell(source, chosen, str(scale.root / "net.safetensors"), device=scale.device, **treated)
        trials.estimate.begin_another()
        yield "train", ", ".join([recipe, *treated.values()]), trials.cost([cell])


def leaderboard(scale: Scale) -> Iterator[Line]:
    """Models of the size of ResNet-50 on all cells of suites, and on clean images."""
    for name in LEADERBOARDS[: 1 if scale.is_quick else None]:
        for precision in ("float32",) if scale.is_quick else ("float32", "bfloat16"):
            suite = load_suite(name)
            plan = plan_evaluation(
                {"resnet50": resnet50(20 if scale.is_quick else 1000)},
                suite,
                scale.folder("val"),
                scale.root / "out",
                only=scale.few(suite.benchmark()),
                precision=precision,
            )
            tests = Tests(plan, Estimate(scale.device))
            for models in (1, 100):
                tests.estimate.begin_another()
                tasks = [Task(cell, ("resnet50",) * count) for cell in plan.cells for count in _groups(models)]
                plural = "" if models == 1 else "s"
                words = f"{name}, {len(plan.cells)} cells, {models} ResNet-50{plural}, {precision}"
                yield "evaluate", words, tests.cost(tasks)


def _groups(models: int) -> list[int]:
    return [min(MODELS, models - first) for first in range(0, models, MODELS)]


def resnet50(classes: int) -> Classifier:
    """An untrained one, which is as fast as a trained one."""
    return Classifier(build("resnet50", classes, 3).eval(), cut=Cut(256, 224), input_size=224, **IMAGENET)


def corrupt(scale: Scale) -> Iterator[Line]:
    """The validation images as files."""
    suite = load_suite("imagenet-c")
    for save, layout in (("png", "folder"), ("jpeg", "folder"), ("png", "webdataset")):
        plan = plan_export(
            scale.folder("val").partition(":")[2],
            scale.root / "out",
            suite,
            only=scale.few(suite.benchmark()),
            resize=256,
            crop=224,
            save=save,
            layout=layout,
        )
        words = f"imagenet-c of {plan.images} images, {save}, {layout}"
        yield "corrupt", words, estimate(plan)


def mscr(scale: Scale) -> Iterator[Line]:
    """The protocol of the paper on images of CIFAR-10's size."""
    options = find_protocol("paper-cifar10")
    count, tested = (300, 50) if scale.is_quick else (60_000, 10_000)
    if scale.is_quick:
        options |= {"models": ["recipe:fashion"], "test_noise": (0, "1x")}
    random = np.random.default_rng(0)
    points = Points(
        "cifar10",
        random.integers(0, 256, (count, 32, 32, 3), np.uint8),
        np.arange(count) % 10,
        tuple("abcdefghij"),
        is_test=np.arange(count) >= count - tested,
    )
    models = options.pop("models")
    plan = MscrStudy(
        models, points, scale.root / "out", **options, epsilon_min=CIFAR_EPSILON, device=scale.device
    ).plan()
    yield "mscr", f"paper-cifar10: {len(plan.work.cells)} trainings of {models[0].partition(':')[2]}", plan.cost()


def distances(scale: Scale) -> Iterator[Line]:
    """How near the augmentation powerset comes to ImageNet-C, in the features of a ResNet-50."""
    suite = load_suite("imagenet-c")
    plan = DistancesStudy(
        ["augmix", "none"] if scale.is_quick else "powerset-64",
        suite,
        scale.folder("train"),
        scale.root / "out",
        extractor=resnet50(20 if scale.is_quick else 100),
        only=scale.few(suite.benchmark()),
        images=10 if scale.is_quick else 100,
        device=scale.device,
    ).plan()
    encoded = f"{plan.work.encodings():,} images through a ResNet-50"
    words = f"{len(plan.work.schemes)} schemes (powerset-64), imagenet-c, {encoded}"
    yield "distance", words, plan.cost()


STUDIES: dict[str, Callable[[Scale], Iterator[Line]]] = {
    "leaderboard": leaderboard,
    "corrupt": corrupt,
    "overlap-38": overlap_38,
    "overlap-all": overlap_all,
    "distances": distances,
    "mscr": mscr,
    "overlap-40": overlap_40,
    "trainings": trainings,
}


# --- tables ----------------------------------------------------------------------------------------------------------


def describe(line: Line) -> dict[str, object]:
    """A line of the CSV file."""
    study, words, cost = line
    return {
        "study": study,
        "what": words,
        "cells": round(cost.cells),
        "gpu_hours": cost.gpu_hours,
        "cpu_hours": cost.cpu_hours,
        "bytes": round(cost.bytes),
        "warm_up_seconds": cost.warm_up,
        "seconds_on_8": cost.wall_seconds(GPUS),
        "machine": cost.machine,
        "torch": torch.__version__,
    }


def join(table: pd.DataFrame, file: Path) -> pd.DataFrame:
    """What was measured now, and what the file has of others."""
    if not file.exists():
        return table
    before = pd.read_csv(file)
    is_old = ~before["what"].isin(table["what"])
    return pd.concat([before[is_old], table], ignore_index=True).sort_values("study", kind="stable", ignore_index=True)


def keep(table: pd.DataFrame, csv: Path | None, page: Path | None) -> pd.DataFrame:
    """Write what was measured until now, whole even if this is the moment of an interruption; all lines there are."""
    if csv is not None:
        table = join(table, csv)
        with write_by_rename(csv) as file:
            table.to_csv(file, index=False, float_format="%.6g")
    if page is not None:
        fill(page, markdown(table))
    return table


def in_words(line: Line) -> str:
    """A line for whoever waits."""
    study, words, cost = line
    hours = f"{cost.gpu_hours:.3g} GPU hours, {cost.cpu_hours:.3g} CPU hours"
    return f"{study}, {words}: {hours}, {show_bytes(cost.bytes)}"


def markdown(table: pd.DataFrame) -> str:
    """The table for the documentation."""
    heads = ("command", "study", "cells", "GPU hours", "CPU hours", "files", f"on {GPUS} GPUs or processors")
    lines = ["| " + " | ".join(heads) + " |", "|---|---|" + "---:|" * (len(heads) - 2)]
    for row in table.itertuples():
        hours = [f"{value:,.1f}" if value >= 0.1 else f"{value:.3f}" if value else "" for value in row[4:6]]
        cells = [f"`scuff {row.study}`", row.what, f"{row.cells:,}", *hours]
        lines.append("| " + " | ".join([*cells, show_bytes(row.bytes), show_duration(row.seconds_on_8)]) + " |")
    machines, versions = (", ".join(dict.fromkeys(table[column])) for column in ("machine", "torch"))
    return "\n".join([*lines, "", f"Measured on: {machines}; torch {versions}."])


def fill(file: Path, text: str) -> None:
    """Put the table between the two marks of a page."""
    page = file.read_text()
    if BEGIN not in page or END not in page:
        raise SystemExit(f"{file} has no lines {BEGIN!r} and {END!r} to write between")
    with write_by_rename(file) as whole:
        whole.write(f"{page.partition(BEGIN)[0]}{BEGIN}\n\n{text}\n\n{END}{page.partition(END)[2]}".encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="cpu, cuda; by default the GPU if there is one")
    parser.add_argument("--quick", action="store_true", help="a smoke test: small folders, few corruptions")
    parser.add_argument("--pictures", help="a folder of photos to take instead of random pictures")
    parser.add_argument("--only", default=",".join(STUDIES), help=f"some of {', '.join(STUDIES)}")
    parser.add_argument("--csv", type=Path, help="where the numbers go")
    parser.add_argument("--markdown", type=Path, help="a page with marks, between which the table goes")
    chosen = parser.parse_args()
    names = chosen.only.split(",")
    unknown = [name for name in names if name not in STUDIES]
    if unknown:
        raise SystemExit(f"no study is called {unknown[0]!r}; there are {', '.join(STUDIES)}")
    lines, began = [], time.perf_counter()
    with tempfile.TemporaryDirectory() as root:
        scale = Scale(Path(root), find_device(chosen.device), chosen.quick, chosen.pictures)
        for name in names:
            for line in STUDIES[name](scale):
                lines.append(describe(line))
                print(f"{time.perf_counter() - began:.0f} s: {in_words(line)}", flush=True)
                table = keep(pd.DataFrame(lines), chosen.csv, chosen.markdown)
    print(markdown(table))


if __name__ == "__main__":
    main()
