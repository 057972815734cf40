"""How many trainings share a GPU: one, or as many as are asked for."""

from types import SimpleNamespace

import pytest
import torch
from made_images import bars

from scuff.engine import LocalEngine, open_engine
from scuff.studies.trainings import TrainingCell, run_trainings
from scuff.training import Recipe

QUICK = Recipe("quick", "small_cnn", epochs=1, batch_size=64, learning_rate=0.1)


def gpus_of_a_training(engine, device, count):
    """The GPUs that each of `count` trainings asks the engine for; nothing is trained."""
    asked = []

    def cells(kind, work, items, *, needs, name, size):
        asked.append((kind, len(items), needs.gpus))
        yield from ()

    cell = TrainingCell("none", "standard", None, 0, QUICK, None, "memory://x/y.safetensors", bars(128), device)
    run_trainings(SimpleNamespace(engine=engine, cells=cells), [cell] * count, torch.device(device))
    ((kind, planned, gpus),) = asked
    assert (kind, planned) == ("train", count)
    return gpus


@pytest.mark.parametrize("count", [20, 200])  # however many there are to come
def test_a_training_has_a_gpu_to_itself_unless_asked_otherwise(count):
    assert gpus_of_a_training(LocalEngine(1), "cuda", count) == 1
    assert gpus_of_a_training(LocalEngine(1, share=4), "cuda", count) == 0.25
    assert gpus_of_a_training(LocalEngine(1, share=4), "cpu", count) == 0


def test_no_fewer_than_one_training_is_on_a_gpu():
    with pytest.raises(ValueError, match="share must be at least 1, got 0"):
        open_engine(share=0)
