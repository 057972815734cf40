"""What all kinds of export have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from scuff.engine import Advance


class Task(Protocol):
    """Something that a worker can do on its own; `outputs` counts the files, or parts of files, that it makes."""

    @property
    def outputs(self) -> int: ...


@dataclass(frozen=True)
class Done:
    """What a task has achieved; `failures` maps the name of a source that could not be read to the reason.

    `seals` are those of what it has written.
    """

    written: int
    failures: dict[str, str] = field(default_factory=dict)
    seals: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Left:
    """What is left of a corruption: outputs, the images in them, how many are read for that, and in how many tasks."""

    outputs: int
    images: int
    reads: int
    tasks: int


@dataclass(frozen=True)
class Work:
    """All outputs of an export, and what is left to do: `prepare`, then `do` for each task, then `finish`.

    `finish` returns the seals of what it writes. `stale` counts what is left to do although there is a file: it is
    damaged, or its source has changed. A large export has millions of tasks: `tasks` makes them one by one, when they
    are needed. `left_out` names the sources that finished outputs lack, because they could not be read.
    """

    outputs: int
    left: Mapping[str, Left]
    tasks: Callable[[], Iterator[Task]]
    do: Callable[[Task, Advance], Done]
    prepare: Callable[[], None] = lambda: None
    finish: Callable[[], list[int]] = list
    left_out: Mapping[str, str] = field(default_factory=dict)
    stale: int = 0
