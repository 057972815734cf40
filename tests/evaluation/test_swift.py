"""Models that are compiled where it pays."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

import scuff
from scuff.cli import app
from scuff.data import array_source
from scuff.evaluation import plan_evaluation, read_evaluation, run_plan, runner, swift
from scuff.models import Classifier
from scuff.models.folding import fold_norms
from scuff.models.graph import Graph

FEW = {"only": ["contrast"], "severities": [1, 3], "batch_size": 16, "device": "cpu"}


class Net(nn.Module):
    """Two convolutions, the second of which is used twice over, so that its norm must stay."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8)
        self.second, self.shared = nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        x = self.norm(self.first(x)).relu()
        y = self.second(x)
        return self.head((self.shared(y) + y).mean((2, 3)))


class Shy(Net):
    """Looks at values, which a stand-in for a tensor does not have."""

    def forward(self, x):
        return super().forward(x) if float(x.sum()) == float(x.sum()) else x


def network(kind: type[Net] = Net) -> nn.Module:
    torch.manual_seed(0)
    net = kind()
    for layer in net.modules():
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.normal_(layer.running_mean)
            nn.init.uniform_(layer.running_var, 0.5, 2.0)
            nn.init.normal_(layer.weight)
    return net.eval()


@pytest.fixture
def source():
    images = np.random.default_rng(0).integers(0, 256, (40, 16, 16, 3), dtype=np.uint8)
    return array_source("noise", images, np.arange(40) % 10)


@pytest.fixture
def shapes(monkeypatch) -> list[tuple[int, ...]]:
    """Nothing is compiled, which is said to be faster; the shapes that the graph is called with."""
    seen = []

    def compile(function, **options):
        return lambda images, *rest: seen.append(tuple(images.shape)) or function(images, *rest)

    monkeypatch.setattr(torch, "compile", compile)
    time_as(monkeypatch, lambda: 1.0 / (1 + len(seen)))
    return seen


def time_as(monkeypatch, seconds) -> None:
    """Let every measurement say so many seconds."""
    monkeypatch.setattr(swift.Swift, "_time", lambda self, work: (work(), seconds())[1])


def test_norms_are_folded_where_a_convolution_feeds_nothing_else():
    net, x = network(), torch.randn(4, 3, 16, 16)
    folded = fold_norms(net)
    assert isinstance(folded.norm, nn.Identity)
    assert isinstance(folded.shared, nn.BatchNorm2d)
    assert isinstance(net.norm, nn.BatchNorm2d)  # the original stays as it is
    torch.testing.assert_close(folded(x), net(x))


def test_what_cannot_be_folded_stays_as_it_is():
    shy = network(Shy)
    assert fold_norms(shy) is shy
    hooked = network()
    hooked.first.register_forward_hook(lambda *_: None)
    assert isinstance(fold_norms(hooked).norm, nn.BatchNorm2d)
    without = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, track_running_stats=False)).eval()
    assert isinstance(fold_norms(without)[1], nn.BatchNorm2d)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Net, Shy])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_torch_traces_the_whole_graph(source, monkeypatch, kind, precision):
    """The real torch.compile, less its code generator: one graph, unless the model itself looks at values."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager", fullgraph=kind is Net))
    classifier = Classifier(network(kind), name="net", mean=(0.5,) * 3, std=(0.2,) * 3, precision=precision)
    images = source.read(range(16))
    graph = Graph(classifier, swift.rank, images[:4])
    for counted, ranks in ((None, 1), (torch.tensor([1, 3, 4, 7, 8, 9]), 5)):
        plain = swift.rank(classifier(images), counted, ranks)
        torch.testing.assert_close(graph(images, counted, ranks)[:, -1], plain[:, -1], rtol=0, atol=0.02)


@pytest.mark.parametrize("kind", [Net, Shy])
def test_compiled_models_see_batches_of_one_size_and_answer_alike(source, shapes, kind):
    classifier = Classifier(network(kind), name="net", mean=(0.5,) * 3, std=(0.2,) * 3)
    plain = scuff.evaluate(classifier, "cifar10-c", source, compile=False, **FEW)
    assert not shapes
    compiled = scuff.evaluate(classifier, "cifar10-c", source, compile=True, **FEW)
    assert set(shapes) == {(16, 3, 16, 16)}  # the last batch of 8 is filled up
    assert compiled.drop(columns="confidence").equals(plain.drop(columns="confidence"))
    np.testing.assert_allclose(compiled["confidence"], plain["confidence"], rtol=1e-4)


def test_sequences_and_class_subsets_too(source, shapes):
    classifier = Classifier(network(), name="net", mean=(0.5,) * 3, std=(0.2,) * 3)
    options = {"only": ["brightness"], "batch_size": 16, "device": "cpu"}
    plain, compiled = (scuff.evaluate(classifier, "cifar10-p", source, compile=c, **options) for c in (False, True))
    assert shapes
    assert compiled.drop(columns="confidence").equals(plain.drop(columns="confidence"))


def test_precision_is_kept(source, shapes):
    classifier = Classifier(network(), name="net", mean=(0.5,) * 3, std=(0.2,) * 3)
    options = {**FEW, "precision": "bfloat16"}
    plain, compiled = (scuff.evaluate(classifier, "cifar10-c", source, compile=c, **options) for c in (False, True))
    assert next(classifier.model.parameters()).dtype == torch.float32
    np.testing.assert_allclose(compiled["confidence"], plain["confidence"], atol=0.02)


def run(classifier, source, folder, **options):
    return run_plan(plan_evaluation(classifier, "cifar10-c", source, folder, **FEW), **options)


def test_a_note_says_what_was_compiled(source, shapes, tmp_path):
    timing = run(Classifier(network(), name="net"), source, tmp_path, compile=True)
    (note,) = timing.notes
    assert note.startswith("net was compiled in ")
    assert note.endswith(" x as fast")
    assert timing.predictions == 3 * 40


def test_a_model_that_cannot_be_compiled_runs_as_it_is(source, monkeypatch, tmp_path):
    def fail(*_, **__):
        raise RuntimeError("no compiler here\nand much more")

    monkeypatch.setattr(torch, "compile", lambda function, **_: fail)
    timing = run(Classifier(network(), name="net"), source, tmp_path, compile=True)
    assert timing.notes == ("net runs as it is: it cannot be compiled (RuntimeError: no compiler here)",)
    assert timing.predictions == 3 * 40


def test_what_is_slower_compiled_runs_as_it_is(source, shapes, monkeypatch, tmp_path):
    time_as(monkeypatch, lambda: float(len(shapes) or 0.5))
    timing = run(Classifier(network(), name="net"), source, tmp_path, compile=True)
    assert timing.notes == ("net runs as it is: compiled, it is 0.2 x as fast",)
    assert len(shapes) == 2


@pytest.mark.parametrize(("seconds", "note"), [(1e-6, "compiling does not pay"), (1.0, "was compiled in")])
def test_the_choice_is_left_to_the_length_of_the_run(source, shapes, monkeypatch, seconds, note):
    model = swift.Swift(Classifier(network(), name="net"), predictions=100_000, compile=None)
    time_as(monkeypatch, lambda: seconds / (1 + len(shapes)))
    images = source.read(range(12))
    assert not model.is_settled
    model.settle(images, None, 1, lambda outputs: None)
    assert model.is_settled
    assert note in model.note
    assert model.is_compiled is bool(shapes)
    assert model(images, None, 1, 12, lambda outputs: None).shape == (12, 2)
    assert swift.Swift(model.classifier, predictions=100, compile=None).is_settled  # nobody measures


class Wider(Net):
    """Of the same layers, but one."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Sequential(nn.Linear(8, 9), nn.Linear(9, 10))


@pytest.mark.parametrize(
    ("is_faster", "words", "same"),
    [
        (True, "was compiled", "with one, whose architecture it has"),
        (False, "runs as it is", "it has the architecture of one"),
    ],
)
def test_networks_of_one_architecture_are_measured_once(source, shapes, monkeypatch, tmp_path, is_faster, words, same):
    timed = []
    time_as(monkeypatch, lambda: timed.append(1) or (1.0 / len(timed) if is_faster else len(timed)))
    nets = {name: network(kind) for name, kind in (("one", Net), ("two", Net), ("wider", Wider))}
    with torch.no_grad():
        nets["two"].head.bias[5] += 100  # so that it always answers 5
    plan = plan_evaluation(
        [Classifier(net, name=name) for name, net in nets.items()], "cifar10-c", source, tmp_path, **FEW
    )
    notes = run_plan(plan, compile=True).notes
    assert len(timed) == 4  # as they are, and compiled, of one and of the wider one
    assert [note.partition(" ")[0] for note in notes] == ["one", "two", "wider"]
    assert all(words in note for note in notes)
    assert notes[1].endswith(same)
    rows = read_evaluation(tmp_path).rows
    assert (rows.loc[rows["model"] == "two", "prediction"] == 5).all()
    assert not (rows.loc[rows["model"] == "one", "prediction"] == 5).all()


def test_compiled_models_get_larger_batches_where_there_is_room(source, shapes, monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "CHUNK", {"cpu": 8 * 3 * 16 * 16})
    monkeypatch.setattr(runner, "available_on", lambda device: 1 << 40)
    plan = plan_evaluation(
        Classifier(network(), name="net"), "cifar10-c", source, tmp_path, **FEW | {"batch_size": None}
    )
    assert run_plan(plan, compile=True).batch_size == 32
    assert set(shapes) == {(32, 3, 16, 16)}


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_by_default_the_choice_is_open_on_a_gpu(source, monkeypatch, tmp_path, precision):
    plan = plan_evaluation(Classifier(network(), name="net"), "cifar10-c", source, tmp_path, precision=precision)
    monkeypatch.setattr(Classifier, "on", lambda self, device, precision: self)
    assert runner.Runner(plan, torch.device("cpu"), compile=None).open(["net"])["net"].compile is False
    monkeypatch.setattr(runner, "Clock", lambda device: None)
    assert runner.Runner(plan, torch.device("cuda"), compile=None).open(["net"])["net"].compile is None


def test_out_of_memory_while_compiling_halves_the_batch(source, shapes, monkeypatch, tmp_path):
    compile = torch.compile

    def hungry(function, **options):
        compiled = compile(function, **options)

        def call(images, *rest):
            if len(images) > 8:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return compiled(images, *rest)

        return call

    monkeypatch.setattr(torch, "compile", hungry)
    timing = run(Classifier(network(), name="net"), source, tmp_path, compile=True)
    assert timing.batch_size == 8
    assert set(shapes) == {(8, 3, 16, 16)}


def test_a_compiled_model_of_too_few_outputs_is_refused(source, shapes):
    source = array_source("many", np.asarray(source.images.array), np.arange(40))
    with pytest.raises(ValueError, match="net has 10 outputs"):
        scuff.evaluate(Classifier(network(), name="net"), "cifar10-c", source, compile=True, **FEW)


def test_the_command_line_leaves_the_choice_open(monkeypatch, tmp_path):
    asked = []
    plan = scuff.evaluation.plan.plan_evaluation
    stand_in = lambda **options: asked.append(options.get("compile")) or plan(**options)  # noqa: E731
    monkeypatch.setattr(scuff.evaluation, "plan_evaluation", stand_in, raising=False)
    words = ["evaluate", "scuff.missing:net", "--data", "fashion", "--out", str(tmp_path)]
    for more in ([], ["--compile"], ["--no-compile"]):
        CliRunner().invoke(app, [*words, *more])
    assert asked == [None, True, False]
