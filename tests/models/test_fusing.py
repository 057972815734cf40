"""Convolutions that rectify their results, and add others before, compute what the layers did that they stand for."""

import pytest
import torch
from torch import fx, nn
from torch._dynamo.testing import CompileCounter

from scuff.models import Classifier, build
from scuff.models.folding import fold_norms
from scuff.models.fusing import FusedConvolution, fuse, fused_convolution
from scuff.models.graph import Graph, _lightest, _share_class


def trained(name):
    """A network whose batch norms do something."""
    torch.manual_seed(0)
    network = build(name, 10).eval()
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.normal_(layer.running_mean)
            nn.init.uniform_(layer.running_var, 0.5, 2)
            nn.init.uniform_(layer.weight, 0.5, 1.5)
            nn.init.normal_(layer.bias)
    return network


def fused_layers(network):
    return [layer for layer in network.modules() if isinstance(layer, FusedConvolution)]


@pytest.mark.parametrize(
    ("name", "side", "layers", "first"),
    [
        ("resnet18", 48, 17, True),
        ("resnet18", 49, 17, True),
        ("resnet18_32", 32, 17, False),
        ("resnet50", 32, 49, True),
    ],
)
def test_a_fused_network_computes_the_same(name, side, layers, first):
    """Of ResNets, all but the shortcuts' convolutions are fused; the first one takes 2 x 2 pixels at a time."""
    network, x = trained(name), torch.randn(2, 3, side, side)
    before = {key: value.clone() for key, value in network.state_dict().items()}
    fused = fuse(fold_norms(network))
    assert len(fused_layers(fused)) == layers
    assert (fused_layers(fused)[0].folded is not None) == first
    with torch.inference_mode():
        expected = network(x)
        torch.testing.assert_close(fused(x), expected, rtol=0, atol=1e-5 * expected.abs().max().item())
    assert all(torch.equal(before[key], value) for key, value in network.state_dict().items())


@pytest.mark.parametrize(("taps", "padding"), [(7, 3), (7, 2), (7, 0), (6, 2), (5, 2), (4, 0), (3, 1), (2, 1), (1, 0)])
@pytest.mark.parametrize(("channels", "sides"), [(3, (20, 22)), (1, (20, 20)), (4, (21, 20))])
def test_a_stride_of_two_may_take_pixels_in_fours(taps, padding, channels, sides):
    torch.manual_seed(0)
    layer, x = nn.Conv2d(channels, 5, taps, 2, padding), torch.randn(2, channels, *sides)
    fused, expected = FusedConvolution(layer), layer(x)
    summand = torch.randn_like(expected)
    assert fused.folded.shape[1] == 16
    torch.testing.assert_close(fused(x), expected.relu(), rtol=0, atol=1e-5)
    torch.testing.assert_close(fused(x, summand), (expected + summand).relu(), rtol=0, atol=1e-5)


class Odd(nn.Module):
    """What must stay as it is: a convolution that two see, one that is called twice, one with a hook, and a number."""

    def __init__(self):
        super().__init__()
        self.seen, self.twice, self.hooked, self.last = (nn.Conv2d(3, 3, 3, padding=1) for _ in range(4))
        self.hooked.register_forward_hook(lambda layer, given, made: 2 * made)

    def forward(self, x):
        seen = self.seen(x)
        x = torch.relu(seen) + seen
        x = torch.relu(self.twice(torch.relu(self.twice(x))))
        x = torch.relu(self.hooked(x))
        return torch.relu(self.last(x) + 1).mean((2, 3))


def test_what_others_see_is_not_fused():
    network, x = Odd().eval(), torch.randn(2, 3, 8, 8)
    fused = fuse(network)
    assert not fused_layers(fused)
    torch.testing.assert_close(fused(x), network(x))


class Branching(nn.Module):
    def forward(self, x):
        return x.mean((2, 3)) if x.sum() > 0 else x.amax((2, 3))


def test_a_network_that_cannot_be_traced_stays_as_it_is():
    network = Branching().eval()
    assert fuse(network) is network


def test_a_lighter_network_that_fails_is_not_taken(monkeypatch):
    """Neither one that raises, nor one that computes something else."""
    network, few = trained("resnet18_32"), torch.randint(0, 256, (2, 3, 32, 32), dtype=torch.uint8)
    exact = Classifier(network)
    assert not any(isinstance(layer, nn.BatchNorm2d) for layer in _lightest(exact, few).modules())

    class Raises(nn.Module):
        def forward(self, x):
            raise RuntimeError("there are no such convolutions")

    for worse in (Raises().eval(), nn.Sequential(network, nn.Softmax(1)).eval()):
        monkeypatch.setattr("scuff.models.graph.fold_norms", lambda given, worse=worse: worse)
        assert _lightest(exact, few) is network


def test_a_compiler_knows_what_a_fused_convolution_makes():
    given = torch.randn(2, 8, 9, 9), torch.randn(4, 8, 3, 3), None, torch.randn(2, 4, 5, 5)
    tests = ("test_schema", "test_faketensor")
    torch.library.opcheck(fused_convolution, (*given, [2, 2], [1, 1], [1, 1], 1), test_utils=tests)


def test_networks_of_one_architecture_are_compiled_once(monkeypatch):
    """Also when they are traced, as on a GPU; each computes with its own weights."""
    counter, compile = CompileCounter(), torch.compile
    monkeypatch.setattr(torch, "compile", lambda function, **options: compile(function, backend=counter, **options))
    monkeypatch.setattr("scuff.models.graph.fold_norms", lambda network: fuse(fold_norms(network)))
    images = torch.randint(0, 256, (2, 3, 32, 32), dtype=torch.uint8)
    for times, name in ((1, "resnet18_32"), (1, "resnet18_32"), (2, "resnet50_32")):
        classifier = Classifier(build(name, 10).eval(), precision="bfloat16")
        answer = Graph(classifier, lambda logits: logits, images)(images)
        torch.testing.assert_close(answer, classifier(images), rtol=0, atol=0.02 * answer.abs().max().item())
        assert counter.frame_count == times


def test_the_same_words_may_mean_other_code():
    """Two networks whose code reads alike, and calls functions of one name that differ."""

    def traced(function):
        function.__module__ = function.__qualname__ = function.__name__ = "finish"
        graph = fx.Graph()
        graph.output(graph.call_function(function, (graph.placeholder("x"),)))
        return fx.GraphModule(nn.Module(), graph)

    def double(x):
        return 2 * x

    def triple(x):
        return 3 * x

    networks = traced(double), traced(triple), traced(double)
    assert networks[0].code == networks[1].code
    for network in networks:
        _share_class(network)
    assert type(networks[0]) is type(networks[2]) is not type(networks[1])
    assert [network(torch.ones(())).item() for network in networks] == [2, 3, 2]
