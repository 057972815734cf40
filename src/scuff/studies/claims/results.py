"""What a check has found, as it stands in claims.json."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any, Literal

from scuff.metrics.claims.evidence import Verdict
from scuff.metrics.claims.trial import Outcome
from scuff.readers import check_form
from scuff.store import Settings, open_results, read_settings

FILE = "claims.json"
EXIT = {"holds": 0, "fails": 1, "undecided": 3}


@dataclass(frozen=True)
class ClaimResult:
    """A claim, what its trials have come to, and what follows for it."""

    name: str
    sentence: str
    written: dict[str, Any]
    resolved: dict[str, Any]
    verdict: Verdict
    holm: Verdict | None
    is_allowed: bool
    passes: int
    seconds: float
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...] = ()

    @property
    def worst(self) -> Outcome:
        """The trial that decided it: the one that failed, or that was nearest to failing."""
        order = ("fails", "undecided", "holds")
        return min(self.outcomes, key=lambda o: (order.index(o.verdict), o.supporting))


@dataclass(frozen=True)
class Checked:
    """All claims about a model, and what they come to together: the gate is open if all hold."""

    model: str
    claims: tuple[ClaimResult, ...]
    settings: Settings

    @property
    def verdict(self) -> Literal["holds", "fails", "undecided"]:
        """`fails` if a claim fails, `undecided` if one is that must not be, else `holds`."""
        verdicts = {claim.verdict for claim in self.claims if claim.verdict == "fails" or not claim.is_allowed}
        return next((verdict for verdict in ("fails", "undecided") if verdict in verdicts), "holds")  # type: ignore[return-value]

    @property
    def exit_code(self) -> int:
        """0: all hold, or are undecided and may be; 1: some fail; 3: none fails, some are undecided."""
        return EXIT[self.verdict]

    def __bool__(self) -> bool:
        """Whether the model passes: `assert scuff.check(...)`."""
        return self.verdict == "holds"

    def to_dict(self) -> dict[str, Any]:
        """The content of claims.json."""
        claims = [{**asdict(claim), "worst": claim.worst.name} for claim in self.claims]
        return {**self.settings, "model": self.model, "verdict": self.verdict, "claims": claims}


def read_claims_study(directory: str | os.PathLike[str]) -> Checked:
    """What the folder of a check holds."""
    store = open_results(directory, FILE, "scuff check")
    content = read_settings(store, FILE)
    claims = content.get("claims")
    check_form(claims, list[dict[str, Any]], "claims")
    settings = {key: value for key, value in content.items() if key not in ("model", "verdict", "claims")}
    try:
        results = tuple(_read(claim) for claim in claims)
    except (KeyError, TypeError) as error:
        raise ValueError(f"{store.root}/{FILE} is not what scuff check writes: {error}") from error
    return Checked(str(content.get("model", "")), results, settings)


def _read(claim: dict[str, Any]) -> ClaimResult:
    outcomes = tuple(Outcome(**{**o, "curve": tuple(map(tuple, o["curve"]))}) for o in claim["outcomes"])
    known = {key: value for key, value in claim.items() if key != "worst"}
    return ClaimResult(**{**known, "outcomes": outcomes, "notes": tuple(claim["notes"])})
