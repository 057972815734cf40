"""What tools that write pages of docs/results share: tables of Markdown, means with intervals, and device time."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from scuff.metrics.intervals import student_half_width


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Lines of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def paragraph(text: str) -> str:
    """Lines as long as those of the other pages."""
    return textwrap.fill(text.strip(), 120, break_long_words=False, break_on_hyphens=False)


def spanned(values: Sequence[float] | np.ndarray, form: str = "{:.2f}") -> str:
    """A mean over seeds, with its interval (Student's, 95 %) if there are several."""
    values = np.asarray(values, float)
    mean = values.mean()
    if len(values) == 1:
        return form.format(mean)
    half = student_half_width(values)
    return f"{form.format(mean)} [{form.format(mean - half)}, {form.format(mean + half)}]"


def plain(address: str) -> str:
    """A name without its suite."""
    return address.rpartition("/")[2]


def words(addresses: Iterable[str]) -> str:
    """Names without their suites, in one line."""
    return ", ".join(map(plain, addresses))


def keep(kept: Path, new: Sequence[pd.DataFrame], by: str) -> None:
    """Add to a table on disk; what has the same `by` as something new is replaced. Words such as "none" stay words."""
    if not new:
        return
    again = {value for lines in new for value in lines[by]}
    old = [pd.read_csv(kept, keep_default_na=False)] if kept.exists() else []
    old = [lines[~lines[by].isin(again)] for lines in old]
    pd.concat([*old, *new]).sort_values(by, kind="stable").to_csv(kept, index=False)


def keep_costs(runs: Iterable[Path], settings: str, kept: Path) -> None:
    """Add to a table what studies took, all visits together; and how much of the device, where others used it too."""
    rows = []
    for run in (run for run in runs if (run / settings).exists()):
        machine = json.loads((run / settings).read_text(encoding="utf-8"))["environment"]["device"]
        visits = [json.loads(file.read_text(encoding="utf-8")) for file in (run / "progress").glob("*.json")]
        spent = {kind: sum(visit["cells"].get(kind, {}).get("seconds", 0) for visit in visits) for kind in KINDS}
        spent["all"] = spent["device"] = sum(visit["seconds"] for visit in visits)
        if (run / "seconds.txt").exists():
            spent["device"] = sum(map(int, (run / "seconds.txt").read_text(encoding="utf-8").split()))
        rows.append({"run": run.name, "machine": machine, **{kind: round(value) for kind, value in spent.items()}})
    keep(kept, [pd.DataFrame([row]) for row in rows], "run")


KINDS = ("train", "test")


def cost_section(kept: Path, beside: str = "") -> str:
    """The time of every run, and its part of the device."""
    rows = pd.read_csv(kept)[["run", "machine", *KINDS, "all", "device"]].values.tolist()
    head = ("run", "machine", "training", "testing", "in all", "of the device")
    text = f"Seconds, everything included{beside}. A run that took less of the device than it lasted shared it."
    return "\n\n".join(["## Cost", paragraph(text), table(head, rows)])
