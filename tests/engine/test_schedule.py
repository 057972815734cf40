"""What is tried when and where: with workers that do as they are told, and a clock that does not wait."""

from dataclasses import dataclass, field

import pytest

from scuff.engine import Needs, schedule
from scuff.engine.cells import Ended
from scuff.engine.schedule import run_schedule


class Time:
    """A clock that goes on by a second at every look of the schedule."""

    now = 1000.0

    def monotonic(self):
        return self.now


@dataclass
class Scripted:
    """Machines A and B with a worker each. `ends` says what becomes of a cell on a machine: an error, or "never"."""

    ends: dict
    clock: Time
    name: str = "scripted"
    attempts: int = 3
    share: int = 1
    doubles_slow_cells: bool = True
    tried: list = field(default_factory=list)
    busy: dict = field(default_factory=dict)
    cancelled: list = field(default_factory=list)

    def is_worth_retrying(self, error):
        return True

    def open(self, work, needs, most, advance):
        return self

    def count(self):
        return 2

    def room(self):
        return 2 - len(self.busy)

    def places(self):
        return {"A", "B"}

    def start(self, ticket, cell, avoid):
        free = [place for place in "AB" if place not in self.busy and place not in avoid]
        if not free:
            return None
        self.busy[free[0]] = ticket, cell
        self.tried.append(f"{cell}@{free[0]}")
        return free[0]

    def wait(self, seconds):
        self.clock.now += seconds
        ended = []
        for place, (ticket, cell) in list(self.busy.items()):
            end = self.ends.get((cell, place))
            if end != "never":
                del self.busy[place]
                ended.append(Ended(ticket, cell, end, seconds=1.0, where=place))
        return ended

    def cancel(self, ticket):
        place = next(place for place, (its, _) in self.busy.items() if its == ticket)
        self.cancelled.append(place)
        del self.busy[place]

    def close(self):
        self.busy.clear()


@pytest.fixture
def clock(monkeypatch):
    made = Time()
    monkeypatch.setattr(schedule, "time", made)
    return made


def run(engine, cells, others_are_done=False):
    retries = []
    found = run_schedule(
        engine, None, cells, Needs(), len(cells), others_are_done=others_are_done,
        advance=lambda *at: None, retried=lambda one: retries.append((one.cell, one.count)), tick=lambda *at: None,
    )  # fmt: skip
    return {one.cell: None if one.last.error is None else str(one.last.error) for one in found}, retries


def test_a_cell_that_failed_does_not_wait_for_ever_for_another_machine(clock):
    """x fails once on A, and B is busy for ever with y: after a minute x is tried on A again, and then y elsewhere."""
    wrong = [OSError("no disk")]

    class Once(dict):
        def get(self, key):
            if key == ("x", "A") and wrong:
                return wrong.pop()
            return "never" if key == ("y", "B") else None

    engine = Scripted(Once(), clock)
    done, retries = run(engine, ["x", "y", "z"])
    assert done == {"x": None, "y": None, "z": None}
    assert engine.tried == ["x@A", "y@B", "z@A", "x@A", "y@A"]
    assert engine.cancelled == ["B"]
    assert retries == [("x", 1)]


def test_a_double_that_fails_is_not_tried_without_end_and_its_reason_is_kept(clock):
    engine = Scripted({("y", "B"): "never", ("y", "A"): OSError("no disk")}, clock)
    found = run_schedule(
        engine, None, ["x", "y"], Needs(), 2,
        advance=lambda *at: None, retried=lambda one: kept.append(str(one.last.error)), tick=lambda *at: None,
    )  # fmt: skip
    kept = []
    assert next(found).cell == "x"

    def until_later(workers, running):
        if clock.now > 2000:
            engine.ends = {}

    engine_wait = engine.wait

    def wait(seconds):
        until_later(2, 1)
        return engine_wait(seconds)

    engine.wait = wait
    assert [one.cell for one in found] == ["y"]
    assert engine.tried == ["x@A", "y@B", "y@A"]
    assert kept == ["no disk"]


def test_the_last_cell_of_a_study_that_fails_is_listed_and_does_not_hide_what_comes_after_it(clock):
    always = {("x", place): ValueError("x diverged") for place in "AB"}
    done, _ = run(Scripted(always, clock), ["x"], others_are_done=True)
    assert done == {"x": "x diverged"}
    with pytest.raises(ValueError, match="x diverged"):
        run(Scripted(always, clock), ["x"])
