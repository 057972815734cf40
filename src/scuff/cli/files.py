"""Results as files that scripts read: JSON and CSV."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pandas as pd

Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Also write all numbers to a JSON file.")]
Csv = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Also write the errors of all cells as CSV.")]


def check_files(*files: Path | None) -> None:
    """Refuse files that cannot be written in the end, before the work."""
    for file in filter(None, files):
        if file.is_dir() or not file.absolute().parent.is_dir():
            raise ValueError(f"{file} cannot be written: " + ("it is a folder" if file.is_dir() else "no such folder"))


def write_files(numbers: dict[str, Any], cells: pd.DataFrame | None, as_json: Path | None, as_csv: Path | None) -> None:
    """Write what was asked for; in JSON, frames are lists of lines, and what is undefined is null."""
    from scuff.files import write_by_rename

    if as_json is not None:
        with write_by_rename(as_json) as file:
            file.write((json.dumps(_plain(numbers), indent=2, allow_nan=False) + "\n").encode())
    if as_csv is not None and cells is not None:
        with write_by_rename(as_csv) as file:
            file.write(cells.to_csv(index=False).encode())


def _plain(value: Any) -> Any:
    """Numbers, texts, lists and mappings of whatever is given."""
    from dataclasses import asdict, is_dataclass

    if hasattr(value, "to_dict"):  # a frame
        value = value.to_dict("records")
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and value != value else value
