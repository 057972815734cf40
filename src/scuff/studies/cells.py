"""The cells of trainings: each leaves one file of weights."""

from __future__ import annotations

from dataclasses import dataclass, field

from scuff.data import Source
from scuff.store import Store
from scuff.training.images import fingerprint_of
from scuff.training.recipes import Recipe
from scuff.training.run import describe
from scuff.training.treatment import Treatment


@dataclass(frozen=True, eq=False)
class TrainingCell:
    """One model of a study: what it is trained on, how, and into which file."""

    trained_on: str
    name: str
    treatment: Treatment | None = field(repr=False)
    seed: int
    recipe: Recipe = field(repr=False)
    start: str | None
    out: str  # an address, as the store of the study gives it
    source: Source = field(repr=False)
    device: str

    def origin(self) -> dict:
        """Everything that decides over its weights, as its file tells it."""
        fingerprint = fingerprint_of(self.source, self.recipe)
        return describe(fingerprint, self.recipe, self.treatment, self.start, self.seed)

    @property
    def images(self) -> int:
        """Images that pass through the network until it is trained."""
        return self.recipe.epochs * len(self.source)


def find_trained(store: Store) -> set[str]:
    """The addresses of all models that are there, by one look into the store."""
    return {store.address(name) for name in store.names("models", ".safetensors")}
