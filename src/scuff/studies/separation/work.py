"""What a study of MSCR has to do: train and test what is missing, and gather the accuracies."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import torch

from scuff.engine import Run, needs_of
from scuff.engine.cost import StudyCost
from scuff.metrics.norms import norm_name
from scuff.metrics.separation.robust_accuracies import RobustAccuracies
from scuff.store import Settings
from scuff.studies.separation.cells import MscrCell, Protocol, forget, run_cell
from scuff.studies.separation.cost import estimate_mscr
from scuff.studies.separation.distances import describe_points
from scuff.studies.separation.results import collect


@dataclass(frozen=True, eq=False)
class MscrWork:
    """The cells of a study, and what they share."""

    settings: Settings = field(repr=False)
    protocol: Protocol
    cells: list[MscrCell] = field(repr=False)

    def missing(self) -> list[MscrCell]:
        """The cells that are not computed yet."""
        existing = set(self.protocol.store.names("cells", ".npz"))
        return [cell for cell in self.cells if cell.file not in existing]

    def run(self, run: Run) -> None:
        """Compute missing cells: first those that need no GPU, then the others."""
        missing = self.missing()
        run.expect("fit", len(self.cells), len(self.cells) - len(missing))
        for on_gpu in (False, True):
            cells = [cell for cell in missing if self.protocol.uses_gpu(cell) == on_gpu]
            needs = needs_of(torch.device(self.protocol.device if on_gpu else "cpu"))
            done = run.cells("fit", partial(run_cell, self.protocol), cells, needs=needs, name=_cell_name)
            try:
                with contextlib.closing(done):
                    for _ in done:
                        pass
            finally:
                forget()

    def collect(self) -> RobustAccuracies:
        """The accuracies of all cells in the folder, those of earlier runs among them."""
        return collect(self.protocol.store, self.settings)

    def cost(self) -> StudyCost:
        """The trainings with their tests that are left."""
        return estimate_mscr(self)

    def describe(self) -> Iterator[str]:
        """Data, radius, models, noise, runs and trainings."""
        settings, protocol = self.settings, self.protocol
        yield describe_points(protocol.points)
        yield f"epsilon_min: {settings['epsilon_min']:.6g} ({norm_name(protocol.norm)})"
        yield f"Models: {', '.join(protocol.contenders)}"
        for key, what in (("train_noise", "Training noise"), ("test_noise", "Test noise")):
            yield f"{what}: {', '.join(f'{radius:.4g}' for radius in settings[key])}"
        copies = ", ".join(map(str, settings["copies"]))
        yield f"Runs: {len(settings['runs'])}; copies of each point: {copies}; offsets: {settings['offsets']}"
        done = len(self.cells) - len(self.missing())
        yield f"Trainings with tests: {len(self.cells)}, {done} done already; in {protocol.store.root}"


def _cell_name(cell: MscrCell) -> str:
    return f"{cell.model} {cell.train_noise:.3g} run {cell.run}"
