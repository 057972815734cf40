"""The page docs/results/dissimilar-cifar10.md: appendix D.1 of the paper on augmentations, by which C-bar was made.

    python tools/dissimilar_tables.py runs docs/results/dissimilar-cifar10.md

From the folder of `tools/experiments.sh dissimilar`. First its scans, the errors and distances of every corruption in
every repetition, go into a table beside the page, and what follows from them, with all repetitions and with each alone,
into two others. Then the page is made of these.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from page_parts import paragraph, plain, table
from scipy.special import stdtrit
from scipy.stats import hypergeom
from transform_space_tables import PUBLISHED_TEN

from scuff.design import Dissimilar, find_dissimilar
from scuff.design.transform_space.groups import Scan

TITLE = "# A benchmark dissimilar to CIFAR-10-C"
HEAD = """
Appendix D.1 and figure 16 of Mintun, Kirillov and Xie: of 30 candidates at ten severities, which ten make benchmarks
that are as hard as CIFAR-10-C and farthest from it? {repetitions} repetitions, as in the paper, each with images and
two networks of its own, a classifier and an extractor of features: WideResNet-40-2, recipe `cifar-fast`, 9 epochs,
where the paper trained for 100. This page and its [tables](dissimilar-cifar10) are made by `tools/dissimilar_tables.py`
from what `tools/experiments.sh dissimilar {repetitions}` leaves; [design.md](../design.md) explains the steps."""
ABOUT = """
A shift says by how many standard deviations benchmarks with this corruption are farther away than all 100 000
benchmarks of the right error. In brackets: Student's interval over repetitions, 95 %. The last column counts the
repetitions that alone would have chosen the corruption. Bold: the ten of CIFAR-10-C-bar."""
FOUND = """
**{shared} of the paper's ten are among our ten**; {missing} are not, and {instead} are in their place. Of ten drawn at
random, that many or more would be among the paper's with a probability of {chance:.4f}. By their intervals, {above}
corruptions make benchmarks more distant and {below} make them less so. The paper prints no shifts of CIFAR-10: its
figure 16 is of ImageNet-C."""
ALONE = """
**Networks agree on most of it, not on all.** Alone, a repetition finds {least} to {most} of the paper's ten, {mean:.1f}
in the mean, and two repetitions share {fewest} to {highest} of their ten, {common:.1f} in the mean. {always}
corruptions are chosen by every repetition, {sometimes} by some."""
CHOSEN = """
The benchmark has an error of {error:.2f} %, CIFAR-10-C has {target:.2f} % in the mean of the classifiers. Its distance
of {distance:.2f} is larger than that of {share:g} % of the 100 000 benchmarks drawn in the same repetition."""
COST = """
{networks} trainings, {tests} tests of 10 000 images and {encoded:.1f} million encoded images took {seconds} s on one
H200, beside another study."""


def main(runs: str, page: str) -> None:
    """Write the tables and the page."""
    out, tables = Path(page), Path(page).with_suffix("")
    folder = Path(runs) / "dissimilar" / "suite"
    if (folder / "shifts.csv").exists():  # which is written when all scans are
        tables.mkdir(parents=True, exist_ok=True)
        collect(folder, tables)
    if not (tables / "scans.csv").exists():
        raise SystemExit(f"there are no results in {runs}")
    scans, shifts, found = (pd.read_csv(tables / f"{name}.csv") for name in ("scans", "shifts", "found"))
    facts = {**found.iloc[0].to_dict(), **summary(shifts), **costs(scans)}
    said = [paragraph(text.format(**facts)) for text in (FOUND, ALONE, CHOSEN)]
    head = [TITLE, paragraph(HEAD.format(**facts)), paragraph(ABOUT), shift_table(shifts)]
    parts = [*head, *said, "## Cost", paragraph(COST.format(seconds=int(found["seconds"].iloc[0]), **costs(scans)))]
    out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def collect(folder: Path, tables: Path) -> None:
    """Bring the scans to one table, and add what follows from them."""
    files = sorted((folder / "scans").glob("*.csv"), key=lambda file: int(file.stem))
    scans = pd.concat([pd.read_csv(file).assign(repetition=int(file.stem)) for file in files]).round(5)
    scans.to_csv(tables / "scans.csv", index=False)
    shifts, found = find(scans)
    shifts.to_csv(tables / "shifts.csv", index=False)
    spent = sum(map(int, (folder.parent / "seconds.txt").read_text(encoding="utf-8").split()))
    found.assign(seconds=spent).to_csv(tables / "found.csv", index=False)


def find(scans: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Shifts with all repetitions and with each alone, and the benchmark of all."""
    every = [as_scan(lines) for _, lines in scans.groupby("repetition")]
    chosen = find_dissimilar(every)
    alone = [find_dissimilar([scan]).shifts.assign(of=str(number)) for number, scan in enumerate(every)]
    shifts = pd.concat([chosen.shifts.assign(of="all"), *alone])[["of", "corruption", "shift", "sd", "chosen"]]
    return shifts.round(5), pd.DataFrame([numbers(chosen)]).round(5)


def as_scan(lines: pd.DataFrame) -> Scan:
    """A scan with the distances of a table: on a line, the reference at 0 and each candidate at its distance."""
    return Scan(lines[["role", "corruption", "severity", "error"]], lines[["distance"]].fillna(0).to_numpy())


def numbers(chosen: Dissimilar) -> dict[str, float]:
    """Errors in percent, and how distant the benchmark is."""
    drawn = chosen.candidate_distances[chosen.repetition]
    share = 100 * np.mean(drawn < chosen.distance)
    return {"error": 100 * chosen.error, "target": 100 * chosen.target, "distance": chosen.distance, "share": share}


def intervals(shifts: pd.DataFrame) -> pd.DataFrame:
    """The shifts of all repetitions, with the ends of their intervals."""
    count = shifts["of"].nunique() - 1
    every = shifts[shifts["of"] == "all"]
    half = every["sd"] * stdtrit(count - 1, 0.975) / np.sqrt(count)
    return every.assign(low=every["shift"] - half, high=every["shift"] + half)


def shift_table(shifts: pd.DataFrame) -> str:
    """A line per candidate, the largest shift first."""
    times = shifts[(shifts["of"] != "all") & shifts["chosen"]]["corruption"].value_counts()
    rows = []
    for place, line in enumerate(intervals(shifts).itertuples(), start=1):
        name = plain(line.corruption)
        called = name.replace("_", " ")
        called = f"**{called}**" if name in PUBLISHED_TEN else called
        span = f"{line.shift:+.2f} [{line.low:+.2f}, {line.high:+.2f}]"
        rows.append([place, called, span, f"{line.sd:.2f}", times.get(line.corruption, 0)])
    return table(("", "corruption", "shift", "sd", "chosen alone"), rows)


def summary(shifts: pd.DataFrame) -> dict[str, object]:
    """What the page says of the shifts."""
    spans = intervals(shifts)
    chosen = shifts[shifts["chosen"]].groupby("of")["corruption"].agg(set)
    ours, alone = chosen.pop("all"), list(chosen)
    theirs = {name for name in shifts["corruption"] if plain(name) in PUBLISHED_TEN}
    found = [len(each & theirs) for each in alone]
    shared = [len(one & other) for one, other in combinations(alone, 2)]
    ranked = list(spans["corruption"])
    return {
        "repetitions": len(alone),
        "shared": len(ours & theirs),
        "chance": hypergeom.sf(len(ours & theirs) - 1, len(ranked), len(theirs), len(ours)),
        "missing": listed(name for name in ranked if name in theirs - ours),
        "instead": listed(name for name in ranked if name in ours - theirs),
        "above": int((spans["low"] > 0).sum()),
        "below": int((spans["high"] < 0).sum()),
        "least": min(found),
        "most": max(found),
        "mean": np.mean(found),
        "fewest": min(shared),
        "highest": max(shared),
        "common": np.mean(shared),
        "always": len(set.intersection(*alone)),
        "sometimes": len(set.union(*alone)) - len(set.intersection(*alone)),
    }


def listed(addresses: Iterable[str]) -> str:
    return " and ".join(plain(name).replace("_", " ") for name in addresses)


def costs(scans: pd.DataFrame) -> dict[str, object]:
    """Tests and encoded images: 100 images, each corrupted 100 times, for every line of the scans."""
    repetitions = scans["repetition"].nunique()
    return {"networks": 2 * repetitions, "tests": len(scans), "encoded": len(scans) * 100 * 100 / 1e6}


if __name__ == "__main__":
    main(*sys.argv[1:])
