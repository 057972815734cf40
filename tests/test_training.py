"""Training: a network learns, the same way every time, and nobody else's randomness is touched."""

import pytest
import torch

from scuff.models import build
from scuff.training import fit


@pytest.fixture(scope="module")
def bars():
    """Grey images of 8 x 8 with noise, brighter in one of four corners, which is the class."""
    chance = torch.Generator().manual_seed(0)
    labels = torch.randint(0, 4, (512,), generator=chance)
    images = torch.randint(0, 120, (512, 1, 8, 8), generator=chance, dtype=torch.uint8)
    for k, label in enumerate(labels):
        top, left = 4 * (label // 2), 4 * (label % 2)
        images[k, 0, top : top + 4, left : left + 4] += 100
    return images, labels


def train(bars, seed=0, **options):
    torch.manual_seed(1)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 4))
    return fit(network, *bars, mean=0.3, std=0.2, batch_size=64, learning_rate=0.02, seed=seed, **options)


def right(network, bars):
    with torch.no_grad():
        return (network((bars[0].float() / 255 - 0.3) / 0.2).argmax(1) == bars[1]).float().mean().item()


def test_a_network_learns(bars):
    steps = []
    network = train(bars, epochs=4, progress=lambda done, total: steps.append((done, total)))
    assert right(network, bars) > 0.99  # the corners differ by 100 levels, four times the noise's deviation
    assert not network.training
    assert steps == [(k, 4 * 8) for k in range(1, 33)]


def test_the_seed_decides_over_the_order_and_nothing_else_is_moved(bars):
    one, same, other = (train(bars, seed, epochs=1) for seed in (0, 0, 1))
    before = torch.get_rng_state()
    train(bars, epochs=1)
    torch.manual_seed(1)
    torch.nn.Linear(64, 4)  # what building the network itself has drawn
    assert torch.equal(torch.get_rng_state(), before)
    weights = [network[1].weight for network in (one, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_too_few_images_for_a_batch_are_refused(bars):
    with pytest.raises(ValueError, match="512 images do not fill one batch of 1000"):
        fit(build("small_cnn", classes=4, channels=1), *bars, mean=0.3, std=0.2, batch_size=1000)
