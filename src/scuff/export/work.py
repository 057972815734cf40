"""What the two kinds of export, folders and arrays, have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol


class Task(Protocol):
    """Something that a worker can do on its own; `outputs` counts the files, or parts of files, that it makes."""

    outputs: int


@dataclass(frozen=True)
class Done:
    """What a task has achieved; `failures` maps the name of a source that could not be read to the reason."""

    written: int
    failures: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Work:
    """All outputs of an export, and what is left to do: `prepare`, then `do` for each task, then `finish`."""

    outputs: int
    tasks: list[Task]
    do: Callable[[Task], Done]
    prepare: Callable[[], None] = lambda: None
    finish: Callable[[], None] = lambda: None
