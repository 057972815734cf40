"""Cells on this machine: how many at once, in which process, and what happens to those that fail."""

import json
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from scuff.engine import CellsFailed, LocalEngine, Needs, Run, local, needs_of, open_engine, read_journals
from scuff.engine.cells import WorkerLost
from scuff.engine.journal import POINTS, Journal
from scuff.files import Stopped
from scuff.store import Store


def where(cell, advance):
    return cell, os.getpid(), torch.get_num_threads(), os.environ.get("CUDA_VISIBLE_DEVICES")


def rest(cell, advance):
    time.sleep(1)


def die(cell, advance):
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class DieOnce:
    """Ends its process the first time that it is asked for the cell `deadly`."""

    folder: Path
    deadly: int

    def __call__(self, cell, advance):
        mark = self.folder / "died"
        if cell == self.deadly and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return cell


def odd_ones_fail(cell, advance):
    if cell % 2:
        raise ValueError(f"{cell} is odd")
    return cell


def full_disk(cell, advance):
    raise OSError(28, "No space left on device")


def run_all(engine, work, cells, **options):
    with Run(engine) as run:
        return dict(run.cells("do", work, cells, **options))


# --- where ------------------------------------------------------------------------------------------------------------


def test_as_many_processes_as_fit_and_as_there_are_gpus(monkeypatch):
    monkeypatch.setattr(local, "_processors", lambda: 8)
    monkeypatch.setattr(local, "available_memory", lambda: 5 << 30)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert LocalEngine().count(Needs(), 40) == 5  # memory is short
    assert LocalEngine().count(Needs(memory=2 << 30), 40) == 2
    assert LocalEngine().count(Needs(cpus=4), 40) == 2
    assert LocalEngine().count(Needs(), 3) == 3
    assert LocalEngine(12).count(Needs(), 40) == 12
    assert LocalEngine(12).count(Needs(cpus=None), 40) == 1
    assert LocalEngine().count(Needs(gpus=1), 40) == 2
    assert LocalEngine().count(Needs(gpus=0.5), 40) == 4
    assert LocalEngine(8).count(Needs(gpus=1), 40) == 2
    with pytest.raises(ValueError, match="processes must be at least 1, got 0"):
        LocalEngine(0)


def test_one_process_is_this_one_and_several_are_others_with_a_thread_each():
    alone = run_all(LocalEngine(1), where, ["a", "b"])
    assert {result[1:3] for result in alone.values()} == {(os.getpid(), 1)}
    all_threads = run_all(LocalEngine(1), where, ["a"], needs=Needs(cpus=None))
    assert all_threads["a"][2] == torch.get_num_threads()
    several = run_all(LocalEngine(2), where, ["a", "b", "c"])
    assert sorted(several) == ["a", "b", "c"]
    assert os.getpid() not in {result[1] for result in several.values()}
    assert {result[2] for result in several.values()} == {1}


def test_every_process_sees_one_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    workers = LocalEngine().open(where, Needs(gpus=1), 9, lambda *at: None)
    seen = set()
    deadline = time.monotonic() + 240
    ticket = 0
    while len(seen) < 2 and time.monotonic() < deadline:  # one process may be faster to start than the other
        while workers.room():
            workers.start(ticket, ticket, frozenset())
            ticket += 1
        seen |= {ended.result[3] for ended in workers.wait(1.0)}
    workers.close()
    assert seen == {"3", "5"}


def test_engines_have_names():
    assert open_engine("local", workers=3) == LocalEngine(3)
    assert open_engine("ray", address="auto", workers=2).address == "auto"
    with pytest.raises(ValueError, match="no engine is called 'slurm'; there are local and ray"):
        open_engine("slurm")
    with pytest.raises(ValueError, match="an address is that of a cluster"):
        open_engine("local", address="auto")


# --- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("processes", [1, 2])
def test_a_cell_that_fails_is_listed_and_the_others_are_done(processes):
    done = {}

    def run_some():
        with Run(LocalEngine(processes)) as run:
            done.update(run.cells("do", odd_ones_fail, range(5), name=lambda cell: f"cell {cell}"))

    with pytest.raises(CellsFailed) as failed:
        run_some()
    assert done == {0: 0, 2: 2, 4: 4}
    assert sorted(map(str, failed.value.failures)) == ["do cell 1: 1 is odd", "do cell 3: 3 is odd"]
    assert "2 cells failed; all others are done and kept" in str(failed.value)


def test_when_nothing_succeeds_the_first_error_is_raised_before_all_is_tried():
    tried = []

    def fail(cell, advance):
        tried.append(cell)
        raise ValueError(f"{cell} is wrong")

    with pytest.raises(ValueError, match="0 is wrong"):
        run_all(LocalEngine(1), fail, range(100))
    assert tried == [0, 1, 2]
    with pytest.raises(ValueError, match="7 is wrong"):
        run_all(LocalEngine(1), fail, [7])


def test_a_full_disk_ends_everything_at_once():
    tried = []

    def fill(cell, advance):
        tried.append(cell)
        full_disk(cell, advance)

    with pytest.raises(OSError, match="No space left"):
        run_all(LocalEngine(1), fill, range(9))
    assert tried == [0]


def test_a_cell_whose_process_died_is_done_by_another(tmp_path):
    store = Store(tmp_path / "study")
    with Run(LocalEngine(2), store) as run:
        assert sorted(cell for cell, _ in run.cells("do", DieOnce(tmp_path, 3), range(6))) == list(range(6))
    its = read_journals(store)[0]
    assert its["cells"]["do"]["done"] == 6
    assert its["cells"]["do"]["retried"] >= 1
    assert "a process was killed" in its["retries"][0]["reason"]


def test_where_all_processes_die_the_run_ends_with_advice():
    with pytest.raises(Stopped, match="a process was killed, perhaps for want of memory; what is finished is valid"):
        run_all(LocalEngine(2, attempts=1), die, ["a", "b", "c"])


def test_leaving_early_ends_the_cells():
    with Run(LocalEngine(2)) as run:
        cells = run.cells("do", rest, range(1000))
        next(cells)
        began = time.monotonic()
        cells.close()
    assert time.monotonic() - began < 60  # all of them would take at least eight minutes


# --- what is told of it -----------------------------------------------------------------------------------------------


def test_progress_goes_by_parts_of_cells():
    heard = []

    def work(cell, advance):
        advance(1, 2)

    with Run(LocalEngine(1), progress=lambda *at: heard.append(at)) as run:
        list(run.cells("do", work, [10, 30], size=lambda cell: cell))
    assert heard == [("do 10", 5, 40), ("do 10", 10, 40), ("do 30", 25, 40), ("do 30", 40, 40)]


def test_the_journal_tells_how_a_run_went(tmp_path):
    store, run = Store(tmp_path), Run(LocalEngine(1), Store(tmp_path), title="numbers")
    run.expect("do", 8, there=3)
    with pytest.raises(CellsFailed), run:
        list(run.cells("do", odd_ones_fail, range(5)))
    (its,) = read_journals(store)
    assert (its["title"], its["engine"], its["state"]) == ("numbers", "local", "failed")
    cells = its["cells"]["do"]
    assert {key: cells[key] for key in ("total", "there", "done", "running", "failed")} == {
        "total": 8, "there": 3, "done": 3, "running": 0, "failed": 2,
    }  # fmt: skip
    assert [failure["cell"] for failure in its["failures"]] == ["1", "3"]
    assert [point[1] for point in its["timeline"]] == [1, 2, 3]
    (tmp_path / "progress" / "broken.json").write_text("{")
    assert len(read_journals(store)) == 1


@pytest.mark.parametrize(
    ("error", "state"), [(KeyboardInterrupt, "interrupted"), (Stopped, "stopped"), (ValueError, "failed")]
)
def test_the_journal_tells_how_a_run_ended(tmp_path, error, state):
    def leave():
        with Run(LocalEngine(1), Store(tmp_path)) as run:
            for _ in run.cells("do", odd_ones_fail, [0, 2]):
                raise error("enough")

    with pytest.raises(error):
        leave()
    assert read_journals(Store(tmp_path))[0]["state"] == state


def test_a_run_without_cells_leaves_nothing(tmp_path):
    with Run(LocalEngine(1), Store(tmp_path)):
        pass
    assert not list(tmp_path.iterdir())


def test_a_journal_stays_small_however_many_cells_there_are(tmp_path):
    journal = Journal(None, "many", "local")
    sizes = []
    for cell in range(20_000):
        journal.done("do", str(cell), 0.01)
        if cell % 1000 == 999:
            sizes.append(len(json.dumps(journal.content)))
    assert max(len(journal.content["timeline"]), 1) < POINTS
    assert max(sizes) < 12_000
    assert journal.content["timeline"][-1][1] > 19_000


def test_cells_may_come_from_anywhere_and_are_read_as_workers_are_free():
    read = []

    def cells():
        for cell in range(50):
            read.append(cell)
            yield cell

    with Run(LocalEngine(1)) as run:
        done = run.cells("do", odd_ones_fail, (2 * cell for cell in cells()), count=50)
        next(done)
        assert len(read) == 1
        assert len(list(done)) == 49


def test_a_lost_worker_is_no_reason_to_end_the_run():
    assert issubclass(WorkerLost, Stopped)  # yet, unlike a full disk, it is tried again: see above


@dataclass(frozen=True)
class Deadly:
    """Ends its process whenever it is asked for cell 0; others take their time, so that they run beside it."""

    def __call__(self, cell, advance):
        time.sleep(1.0)
        if cell == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return cell


def test_a_cell_that_always_ends_its_process_takes_no_other_with_it():
    done = []

    def run_some():
        with Run(LocalEngine(2)) as run:
            done.extend(cell for cell, _ in run.cells("do", Deadly(), range(3)))

    with pytest.raises(CellsFailed) as failed:
        run_some()
    assert sorted(done) == [1, 2]
    assert [failure.cell for failure in failed.value.failures] == ["0"]


def test_a_store_that_does_not_answer_hides_no_error(tmp_path, monkeypatch):
    run = Run(LocalEngine(1), Store(tmp_path))

    def unreachable(self, name, content):
        raise ValueError("no valid credentials")

    monkeypatch.setattr(Store, "write", unreachable)
    with pytest.raises(CellsFailed, match="1 is odd"), run:
        list(run.cells("do", odd_ones_fail, [0, 1]))


def test_the_only_gpu_that_will_do_is_used_by_its_number(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    needs = needs_of(torch.device("cuda", 1))
    assert (needs.gpus, needs.gpu) == (1, 1)
    assert LocalEngine().count(needs, 9) == 1
    assert LocalEngine().count(needs_of(torch.device("cuda")), 9) == 4
    assert LocalEngine().count(needs_of(torch.device("cuda", 1), share=3), 9) == 3
