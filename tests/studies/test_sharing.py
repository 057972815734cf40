"""How many trainings share a GPU."""

import json

import pytest
import torch
from made_images import bars

from scuff.engine import LocalEngine, Run
from scuff.store import Store
from scuff.studies import sharing
from scuff.studies.cells import TrainingCell
from scuff.studies.sharing import Together, Trial, choose_share, fastest, speed_together
from scuff.training import Recipe

GPU = torch.device("cuda")
QUICK = Recipe("quick", "small_cnn", epochs=1, batch_size=64, learning_rate=0.1)


def cells(count, device="cuda"):
    one = TrainingCell("none", "standard", None, 0, QUICK, None, "memory://x/y.safetensors", bars(128), device)
    return [one] * count


def test_the_speed_of_several_is_that_of_the_time_in_which_all_were_running():
    assert speed_together([[(0.0, 0), (10.0, 1000)]]) == pytest.approx(100)
    assert speed_together([[(0.0, 0), (10.0, 1000)], [(5.0, 0), (6.0, 300)]]) == pytest.approx(400)
    assert speed_together([[(0.0, 0), (1.0, 10)], [(2.0, 0), (3.0, 10)]]) == 0.0


def test_several_at_once_are_chosen_only_where_they_are_clearly_faster():
    assert fastest({1: 100.0, 2: 109.0}) == 1
    assert fastest({1: 100.0, 2: 111.0, 4: 90.0}) == 2
    assert fastest({}) == 1


def test_trials_really_train_side_by_side(tmp_path):
    trace = Trial(cells(1, "cpu")[0], 0.2, str(tmp_path), count=1)(0, lambda *at: None)
    assert trace[-1][1] > trace[0][1]
    assert trace[-1][0] - trace[0][0] > 0.2
    assert Together(cells(1, "cpu")[0], seconds=0.5)(2, lambda *at: None) > 0


def test_what_was_measured_is_kept_and_not_measured_again(tmp_path, monkeypatch):
    measured = []

    def measure(self, count, advance):
        measured.append(count)
        return {1: 100.0, 2: 180.0, 4: 170.0}[count]

    monkeypatch.setattr(sharing.Together, "__call__", measure)
    store, run = Store(tmp_path), Run(LocalEngine(1))
    assert choose_share(run, store, cells(200, "cpu"), torch.device("cpu")) == 1
    assert choose_share(run, store, cells(20), GPU) == 1  # too few to measure
    assert not measured
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert choose_share(run, store, cells(200), GPU) == 2
    assert measured == [1, 2, 4]
    assert choose_share(run, store, cells(20), GPU) == 2
    assert measured == [1, 2, 4]
    kept = json.loads((tmp_path / "sharing.json").read_text())
    assert (kept["share"], kept["images_per_second"]) == (2, {"1": 100, "2": 180, "4": 170})
    assert choose_share(Run(LocalEngine(1, share=3)), store, cells(20), GPU) == 3
