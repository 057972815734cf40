"""Evaluations on a CUDA device. Collected only where there is one."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

import scuff
from scuff.data import array_source
from scuff.evaluation import plan_evaluation, run_plan
from scuff.models import Classifier, build
from scuff.models.folding import fold_norms
from scuff.models.fusing import FusedConvolution, fuse
from scuff.training import train

pytestmark = pytest.mark.cuda


@pytest.fixture(scope="module")
def classifier(tmp_path_factory) -> Classifier:
    """A small network, trained a little, so that its decisions are not all close calls."""
    file = tmp_path_factory.mktemp("models") / "net.safetensors"
    return scuff.open_model(train("fashion", "fashion", file, epochs=2, device="cuda"))


@pytest.mark.parametrize("suite", ["cifar10-c", "imagenet-noc"])
def test_agrees_with_the_cpu(classifier: Classifier, suite: str) -> None:
    """Corrupted pixels agree to a level on 99.9 % of values; predictions may differ where two classes are close."""
    cpu, gpu = (scuff.evaluate(classifier, suite, "fashion", limit=300, device=device) for device in ("cpu", "cuda"))
    assert cpu[["corruption", "severity", "image_id", "label"]].equals(
        gpu[["corruption", "severity", "image_id", "label"]]
    )
    assert (cpu["prediction"] == gpu["prediction"]).mean() > 0.995
    assert np.median(np.abs(cpu["confidence"] - gpu["confidence"])) < 1e-3  # TF32 in convolutions has 10 bits


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_compiled_models_agree_with_a_plain_loop(classifier: Classifier, precision: str) -> None:
    """Batch by batch, waiting for the device after each: nothing of an evaluation's queues is in it."""
    source, entry = scuff.data.open_source("fashion").take(range(2100)), ("cifar10-c/contrast", 3)
    images, ids = source.read(range(2100)).cuda(), torch.from_numpy(source.ids).cuda()
    on_device, expected = classifier.on("cuda"), []
    for shown in (images, scuff.corrupt(images, *entry, ids=ids)):
        for start in range(0, 2100, 300):
            expected += on_device(shown[start : start + 300]).argmax(1).tolist()
    options = {"only": ["contrast"], "severities": [3], "precision": precision, "batch_size": 500, "device": "cuda"}
    for compile in (False, True):
        rows = scuff.evaluate(classifier, "cifar10-c", source, compile=compile, **options)
        assert rows["confidence"].between(0, 1).all()
        assert (rows["prediction"] == expected).mean() >= (0.999 if precision == "float32" else 0.98)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_compiled_networks_of_one_architecture_keep_their_own_weights(classifier: Classifier, precision: str) -> None:
    """The other one answers with the next class."""
    other = copy.deepcopy(classifier.on("cpu").model)
    head = [layer for layer in other.modules() if isinstance(layer, torch.nn.Linear)][-1]
    with torch.no_grad():
        for values in (head.weight, head.bias):
            values.copy_(values.roll(1, 0))
    as_before = {key: getattr(classifier, key) for key in ("mean", "std", "channels")}
    models = [replace(classifier, name="one"), Classifier(other, name="other", **as_before)]
    options = {"only": ["contrast"], "severities": [3], "precision": precision, "device": "cuda", "compile": True}
    rows = scuff.evaluate(models, "cifar10-c", "fashion", limit=2000, **options)
    ours, theirs = (rows.loc[rows["model"] == name, "prediction"].to_numpy() for name in ("one", "other"))
    assert ((ours + 1) % 10 == theirs).mean() >= (0.999 if precision == "float32" else 0.98)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_convolutions_of_cudnn_that_add_and_rectify_do_so(precision: str) -> None:
    """Against the same layers on the CPU, in float32: bfloat16 has 8 bits."""
    torch.manual_seed(0)
    network, images = build("resnet50", 10).eval(), torch.rand(4, 3, 64, 64)
    fused = fuse(fold_norms(network))
    assert sum(isinstance(layer, FusedConvolution) for layer in fused.modules()) == 49
    with torch.inference_mode():
        expected = fused(images)
        on_gpu = fused.cuda().to(getattr(torch, precision)).to(memory_format=torch.channels_last)
        made = on_gpu(images.cuda().to(getattr(torch, precision))).float().cpu()
    assert (made - expected).abs().max() <= (0.005 if precision == "float32" else 0.03) * expected.abs().max()


@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
@pytest.mark.filterwarnings("ignore:.*prototype")
def test_the_host_waits_once_a_cell(classifier: Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    """While batches run, nothing waits for the device: only the end of a cell does."""
    from scuff.evaluation import predict

    plan_and_run(classifier)  # compiles
    inner = predict._in_parts

    def strictly(*arguments):
        torch.cuda.set_sync_debug_mode("error")
        try:
            yield from inner(*arguments)
        finally:
            torch.cuda.set_sync_debug_mode("default")

    monkeypatch.setattr(predict, "_in_parts", strictly)
    plan_and_run(classifier)


def plan_and_run(classifier: Classifier) -> None:
    images = np.random.default_rng(0).integers(0, 256, (600, 32, 32, 1), dtype=np.uint8)
    source = array_source("noise", images, np.zeros(600, int))
    scuff.evaluate(classifier, "cifar10-c", source, severities=[3], batch_size=200, device="cuda")


def test_running_out_of_memory_halves_the_batch(classifier: Classifier, tmp_path) -> None:
    """The process may use 1 GiB, and the network wants a million numbers for every image."""

    class Wide(torch.nn.Module):
        def forward(self, x):
            wide = x.flatten(1)[:, :1].expand(-1, 1_000_000).clone()
            return wide[:, :10]

    images = np.random.default_rng(0).integers(0, 256, (2048, 32, 32, 3), dtype=np.uint8)
    source = array_source("noise", images, np.zeros(2048, int))
    plan = plan_evaluation({"wide": Wide()}, "cifar10-c", source, tmp_path, only=["contrast"], severities=[1])
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + 2**30) / total)
    try:
        timing = run_plan(plan, device="cuda", batch_size=2048)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert timing.predictions == 2 * 2048
    assert timing.batch_size in (64, 128, 256)
