"""What a study of validity computes: correlations, contributions, groups of benchmarks, trends, and searches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from scuff import design, metrics
from scuff.design.validity.moments import find_moments
from scuff.design.validity.predictive import ask_predictive
from scuff.design.validity.search import find_best
from scuff.design.validity.trends import BASE_K, find_comparisons
from scuff.metrics import Resampling, Shifts
from scuff.metrics.validity.shifts import BETWEEN
from scuff.store import Settings, Store
from scuff.studies.validity.benchmarks import Members
from scuff.studies.validity.results import Validity, save_validity
from scuff.words import count as counted

if TYPE_CHECKING:
    from scuff.engine import Run
    from scuff.engine.cost import StudyCost

STEPS = 3  # correlations, groups, searches
FEWEST_GROUPS = 2  # one alone shows no trend
MOST_REASONS = 3  # for leaving models out, that are named
SEARCH_SCORES = ("chosen", "held_out", "random", "whole", "gain", "gain_over_whole", "drop")
TRIED = 2  # benchmarks, and sets of models, that are tried to find out what the study costs
ROW_BYTES = 120  # of a table of results


@dataclass(eq=False)
class ValidityWork:
    """The table, and what is scored by the settings."""

    shifts: Shifts
    settings: Settings
    store: Store | None
    result: Validity | None = field(default=None, init=False)

    @property
    def resampling(self) -> Resampling:
        return Resampling(count=self.settings["resamples"], seed=self.settings["seed"])

    def benchmarks(self) -> dict[str, Members]:
        """All benchmarks by what they are: suites, categories, single corruptions, other scores."""
        single = {"corruption": self.shifts.corrupted, "score": self.shifts.scores}
        kinds = {"suite": self.settings["suites"], "category": self.settings["categories"]}
        return kinds | {kind: {name: [name] for name in table} for kind, table in single.items()}

    def run(self, run: Run) -> None:
        """Compute all tables."""
        shifts, settings = self.shifts, dict(self.settings)
        run.progress("correlations", 0, STEPS)
        correlations = pd.concat([self.correlate(kind, them) for kind, them in self.benchmarks().items() if them])
        largest = max(settings["suites"].values(), key=len, default=None)
        contributions = metrics.contributions(shifts, largest, resampling=self.resampling) if largest else None
        run.progress("groups of benchmarks", 1, STEPS)
        groups, trends, notes = self.score_groups() if settings["groups"] else (None, None, [])
        settings["notes"] = [*settings["notes"], *notes]
        settings |= dict(zip(("same", "different"), self.agreement(), strict=True))
        run.progress("searches", 2, STEPS)
        searches = [self.search(size, run) for size in settings["search"]]
        tables = correlations.reset_index(drop=True), contributions, groups, trends
        self.result = Validity(shifts, *tables, pd.DataFrame(searches) if searches else None, settings)
        run.progress("done", STEPS, STEPS)

    def collect(self) -> Validity:
        """The result, which is written to the folder."""
        assert self.result is not None, "the study has not run"
        if self.store is not None:
            save_validity(self.store, self.result)
        return self.result

    def correlate(self, what: str, benchmarks: Members) -> pd.DataFrame:
        """Benchmarks of one kind with all natural ones; the column `what` names the kind."""
        table = metrics.validity(self.shifts, benchmarks, resampling=self.resampling)
        table.insert(0, "what", what)
        return table

    def agreement(self) -> list[float | None]:
        """Mean correlation over models of corruptions of the same and of different categories: do these matter?"""
        members = [name for names in self.settings["categories"].values() for name in names]
        if not members:
            return [None, None]
        means = design.correlations(self.shifts.synthetic_residuals()[members], self.settings["categories"])
        return [None if value != value else value for value in means]

    def score_groups(self) -> tuple[pd.DataFrame | None, pd.DataFrame | None, list[str]]:
        """Mean correlations of groups of benchmarks, trends in them, and why some may be missing.

        There are about `count` benchmarks for each of the pairs (n, k), by default for all possible ones; and those,
        often more, that substitutions make of two corruptions from each of as many categories as possible, by spread.
        """
        categories, pairs, count = (self.settings[key] for key in ("categories", "pairs", "count"))
        seed = self.resampling.seed
        even, uneven, n = design.nk_groups(categories, pairs, count, seed), {}, 0
        for n in range(sum(len(members) >= BASE_K for members in categories.values()), 1, -1):
            uneven = design.spread_groups(categories, n, BASE_K, count, seed)
            if len(uneven) >= FEWEST_GROUPS:
                break
            uneven = {}
        notes = [] if uneven else ["no groups by spread: too few benchmarks of different spread"]
        if not even and not uneven:
            return None, None, [*notes, "no groups by n and k: there are too few different benchmarks"]
        shapes = {label: ("n,k", *map(int, label.split(",")), 0.0) for label in even}
        shapes |= {label: ("std", n, BASE_K, float(label.removeprefix("std "))) for label in uneven}
        table = design.group_validity(self.shifts, even | uneven, resampling=self.resampling).to_frame()
        front = pd.DataFrame([shapes[label] for label in table["group"]], columns=["kind", "n", "k", "std"])
        front = front.assign(size=front["n"] * front["k"])
        table = pd.concat([table[["group"]], front, table.drop(columns="group")], axis=1)
        trends = design.trends(self.shifts, categories, pairs=pairs, count=count, resampling=self.resampling)
        return table, trends if len(trends) else None, notes

    def search(self, size: int, run: Run) -> dict[str, Any]:
        """The most predictive benchmark of a size, as a row. Other scores have other units, and do not mix."""
        best = design.find_predictive(self.shifts, size, seed=self.resampling.seed, progress=run.progress)
        row = {"size": best.size, "members": BETWEEN.join(best.members), "fitted": best.fitted}
        for name in SEARCH_SCORES:
            score = getattr(best, name)
            row |= {name: score.value, f"{name}_low": score.low, f"{name}_high": score.high}
        return row | {"stability": best.stability, "exact": best.exact, "warning": best.warning}

    def cost(self) -> StudyCost:
        """Seconds of correlations, groups and searches, from small trials on the table. Nothing is written."""
        import torch

        from scuff.engine.cost import CellCost, StudyCost, time_once
        from scuff.environment import environment

        cpu, parts = torch.device("cpu"), []
        naturals = self.shifts.natural.shape[1] + 1
        settings, shifts = self.settings, self.shifts

        def add(kind: str, cells: int, seconds: float, rows: int) -> None:
            how = "measured now on a part of the table"
            parts.append(CellCost(kind, cells, seconds, rows * naturals * ROW_BYTES, "cpu", how))

        some = {name: [name] for name in list(shifts.synthetic_residuals())[:TRIED]}
        seconds = time_once(lambda: self.correlate("trial", some), cpu) / len(some)
        benchmarks = sum(map(len, self.benchmarks().values()))
        add("correlate", benchmarks + 2 * len(shifts.corrupted.columns), seconds, 5)
        members = [name for names in settings["categories"].values() for name in names]
        if settings["groups"] and len(members) > 1:
            pairs = np.random.default_rng(0).choice(members, (settings["count"], TRIED))
            trial = {"trial": [tuple(dict.fromkeys(pair)) for pair in pairs]}
            comparisons = find_comparisons(settings["categories"], settings["pairs"])
            sides = {side for comparison in comparisons for side in comparison.sides}
            seconds = time_once(lambda: design.group_validity(shifts, trial, resampling=self.resampling), cpu)
            add("group", 2 * len(sides), seconds, 1)  # about as many groups as sides of comparisons
        for size in settings["search"]:
            question = ask_predictive(shifts, size, seed=settings["seed"])
            moments = find_moments(question.x, question.y.mean(axis=1, keepdims=True), ~question.parts[:TRIED])
            seconds = time_once(partial(find_best, moments, size, lambda done, total: None), cpu)
            add("search", 1, seconds * (1 + len(question.parts)) / TRIED, 1)
        return StudyCost(tuple(parts), environment(cpu)["device"])

    def describe(self) -> Iterator[str]:
        """Models, benchmarks, groups and searches."""
        shifts, settings = self.shifts, self.settings
        reasons = Counter(shifts.left_out.values()).most_common()
        yield f"Models: {len(shifts.models)} of {len(shifts.models) + len(shifts.left_out)}"
        yield from (f"Left out: {models} ({reason})" for reason, models in reasons[:MOST_REASONS])
        if len(reasons) > MOST_REASONS:
            others = sum(models for _, models in reasons[MOST_REASONS:])
            yield f"Left out: {others} for other reasons; see left_out in validity.json"
        suites = [f"{name} ({counted(len(members), 'corruption')})" for name, members in settings["suites"].items()]
        yield f"Synthetic: {', '.join([*suites, *shifts.scores])}"
        yield f"Natural: {', '.join(shifts.natural)}"
        categories = ", ".join(f"{name} ({len(members)})" for name, members in settings["categories"].items())
        yield f"Categories: {categories or 'none'}, from {settings['options'].get('categories', 'families')}"
        if settings["groups"]:
            pairs = " ".join(f"{n},{k}" for n, k in settings["pairs"] or ()) or "all possible"
            yield f"Groups of benchmarks: {pairs}, about {settings['count']} of each or all there are; and by balance"
        for size in settings["search"]:
            yield f"Search: the most predictive {size} of {counted(shifts.corrupted.shape[1], 'corruption')}"
        yield from (f"Note: {note}" for note in settings["notes"])
