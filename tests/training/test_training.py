"""Training: a network learns, the same way every time, from wherever it was interrupted."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from made_images import bars
from PIL import Image
from typer.testing import CliRunner

import scuff
from scuff.cli import app
from scuff.data import open_source
from scuff.models import build, open_model, read_origin
from scuff.suites import load_suite
from scuff.training import Recipe, find_recipe, fit, resume, train
from scuff.training import run as run_module
from scuff.training.augment import augment, epoch_seed
from scuff.training.fit import begin, blocks, count_steps
from scuff.training.images import load_training_images, measure_pixels
from scuff.training.run import first_weights
from scuff.training.treatment import Corrupted, Noise, choose_treatment

CPU = torch.device("cpu")
QUICK = Recipe("quick", "small_cnn", epochs=2, batch_size=64, learning_rate=0.1, optimiser="muon")


def weights(path):
    return open_model(str(path)).model.state_dict()


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.values(), other.values(), strict=True))


@pytest.mark.parametrize("recipe", [QUICK, replace(QUICK, optimiser="sgd", epochs=4)], ids=["muon", "sgd"])
def test_a_network_learns_and_its_file_can_be_used_at_once(tmp_path, recipe):
    steps = []
    path = train(bars(), recipe, tmp_path / "net.safetensors", progress=lambda done, total: steps.append((done, total)))
    rows = scuff.evaluate(path, None, bars(seed=1), device="cpu")
    # The corners differ by 100 levels, three times the deviation of one pixel, and sixteen pixels say so.
    assert scuff.metrics.accuracy(rows).value > 0.97
    assert steps == [(k, recipe.epochs * 8) for k in range(1, recipe.epochs * 8 + 1)]
    assert open_model(str(path)).class_names == ("a", "b", "c", "d")


def test_the_seed_decides_over_everything_and_nothing_else_is_moved(tmp_path):
    recipe = replace(QUICK, epochs=1, flip=True, crop=1)
    before = torch.get_rng_state()
    found = [
        weights(train(bars(), recipe, tmp_path / f"{k}.safetensors", seed=seed, corruption="cifar10-c/contrast"))
        for k, seed in enumerate((0, 0, 1))
    ]
    assert torch.equal(torch.get_rng_state(), before)
    assert same(found[0], found[1])
    assert not same(found[0], found[2])


def test_an_interrupted_training_ends_as_if_it_had_not_been(tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "SECONDS_BETWEEN", 0.0)
    monkeypatch.setitem(fit.BLOCK, "cpu", 3 * 64 * 64)  # three batches: blocks of 3, 3 and 2 in an epoch of 8
    options = {"corruption": ["noc-candidates/rain", "noc-candidates/border"], "seed": 3}
    whole = weights(train(bars(), QUICK, tmp_path / "whole.safetensors", **options))

    def stop_at(last):
        def progress(done, total):
            if done == last:
                raise KeyboardInterrupt

        return progress

    out, seen = tmp_path / "net.safetensors", []
    for last in (5, 12):
        with pytest.raises(KeyboardInterrupt):
            train(bars(), QUICK, out, progress=stop_at(last), **options)
        assert not out.exists()
    train(bars(), QUICK, out, progress=lambda done, total: seen.append(done), **options)
    assert seen[0] == 12  # the block before, 8 + 3 steps, was saved
    assert same(weights(out), whole)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["net.safetensors", "whole.safetensors"]


def test_what_is_left_of_another_training_or_damaged_is_not_gone_on_with(tmp_path):
    recipe, images = QUICK, load_training_images(bars(), QUICK, CPU)
    training = begin(first_weights(recipe, images, None, 0), recipe, CPU)
    training.step = 5
    partial = resume.partial_file(tmp_path / "net.safetensors")
    resume.save_training(training, partial, {"seed": 0})
    fresh = begin(first_weights(recipe, images, None, 0), recipe, CPU)
    assert not resume.resume_training(fresh, partial, {"seed": 1})
    assert resume.resume_training(fresh, partial, {"seed": 0})
    assert fresh.step == 5
    partial.write_bytes(partial.read_bytes()[:1000])
    assert not resume.resume_training(fresh, partial, {"seed": 0})


def test_a_finished_training_is_left_alone_and_another_one_refused(tmp_path):
    out = train(bars(), QUICK, tmp_path / "net.safetensors")
    before = out.stat().st_mtime_ns
    assert train(bars(), QUICK, out).stat().st_mtime_ns == before
    assert read_origin(out)["recipe"]["epochs"] == 2
    with pytest.raises(
        ValueError, match=r"net.safetensors is there already, and was trained otherwise \(seed differ\)"
    ):
        train(bars(), QUICK, out, seed=1)
    with pytest.raises(ValueError, match=r"trained otherwise \(recipe, corrupted differ\)"):
        train(bars(), QUICK, out, epochs=1, suite="imagenet-noc")


def test_weights_do_not_depend_on_how_many_images_are_prepared_at_once(tmp_path, monkeypatch):
    recipe = replace(QUICK, epochs=1, flip=True, crop=2)
    one = weights(train(bars(), recipe, tmp_path / "one.safetensors", corruption="cifar10-c/fog"))
    monkeypatch.setitem(fit.BLOCK, "cpu", 1)
    assert same(weights(train(bars(), recipe, tmp_path / "other.safetensors", corruption="cifar10-c/fog")), one)


def test_half_of_every_batch_is_corrupted_and_all_images_are_seen_once():
    images = load_training_images(bars(500, channels=3), QUICK, CPU)

    class Blackened(Corrupted):
        def corrupt(self, images, ids, seed):
            return torch.zeros_like(images)

    (places, pixels), *more = blocks(images.pixels, QUICK, 0, 0, CPU, Blackened(load_suite("cifar10-c"), ("fog",)))
    assert not more
    assert len(places) == 448  # seven whole batches of 64; the rest waits for another epoch
    assert places.unique().numel() == 448
    black = (pixels == 0).flatten(1).all(1)
    assert torch.equal(black, (torch.arange(448) % 64 < 32))
    assert torch.equal(pixels[~black], images.pixels[places[~black]])
    later, _ = next(blocks(images.pixels, QUICK, 0, 7, CPU, None))
    assert not torch.equal(later, places)  # the next epoch has an order of its own


def test_images_draw_their_corruption_among_several_and_a_new_one_every_epoch():
    images = torch.full((300, 3, 16, 16), 90, dtype=torch.uint8)
    ids = torch.arange(300)
    names = ("border", "obstruction", "hue")
    distort = Corrupted(load_suite("noc-candidates"), names).corrupt
    made = distort(images, ids, epoch_seed(0, 0))
    ways = [scuff.corrupt(images, f"noc-candidates/{name}", seed=epoch_seed(0, 0)) for name in names]
    # A grey image is the same under hue, so that the third way shows as an unchanged image.
    drew = torch.stack([(made == way).flatten(1).all(1) for way in ways])
    assert drew.any(0).all()
    # Each is drawn by 100 of 300, standard deviation 8.2; the bound is four of those.
    assert ((drew.sum(1) - 100).abs() <= 33).all()
    assert not torch.equal(made, distort(images, ids, epoch_seed(0, 1)))
    assert torch.equal(distort(images[7:9], ids[7:9], epoch_seed(0, 0)), made[7:9])


def test_noise_moves_every_pixel_within_its_ball_and_anew_every_epoch():
    images = load_training_images(bars(64), QUICK, CPU)
    noise = Noise(0.1)
    (places, pixels), *_ = blocks(images.pixels, QUICK, 0, 0, CPU, noise)
    clean = images.pixels[places].float()
    assert pixels.dtype == torch.float32
    assert ((pixels - clean).abs() <= 25.5 * (1 + 1e-5)).all()  # bytes are divided by 255 and multiplied again
    assert (pixels >= 0).all()
    assert (pixels <= 255).all()
    assert (pixels != clean).float().mean() > 0.999
    again = noise.treat(images.pixels[places], places, epoch_seed(0, 0), 64)
    assert torch.equal(again, pixels)
    assert not torch.equal(noise.treat(images.pixels[places], places, epoch_seed(0, 1), 64), pixels)


def test_a_training_with_noise_says_so_and_repeats(tmp_path):
    source = bars(128)
    paths = [train(source, QUICK, tmp_path / f"{k}.safetensors", noise=0.1) for k in range(2)]
    assert read_origin(paths[0])["noise"] == {"radius": 0.1, "norm": "inf", "bounds": "truncate"}
    one, other = map(weights, paths)
    assert same(one, other)
    assert not same(one, weights(train(source, QUICK, tmp_path / "clean.safetensors")))


@pytest.mark.slow
def test_a_network_with_dropout_repeats_and_leaves_the_generator_alone(tmp_path):
    recipe = replace(QUICK, architecture="wide_resnet28_10_dropout", epochs=1, batch_size=2, optimiser="sgd")
    source = bars(4, channels=3, side=8)
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one, other = (weights(train(source, recipe, tmp_path / f"{k}.safetensors")) for k in range(2))
    assert same(one, other)
    assert torch.equal(torch.get_rng_state(), before)


def test_momentum_begins_anew_in_every_epoch_of_such_a_recipe():
    recipe = replace(QUICK, optimiser="sgd", epochs=2, restarts_momentum="epoch")
    training = begin(torch.nn.Linear(2, 2), recipe, CPU)
    training.network(torch.ones(1, 2)).sum().backward()
    training.optimiser.step()
    buffers = [state["momentum_buffer"] for state in training.optimiser.state.values()]
    fit._adjust(training.optimiser, recipe, 3, 8)
    assert all(buffer.abs().sum() > 0 for buffer in buffers)
    fit._adjust(training.optimiser, recipe, 4, 8)  # the first of the second epoch
    assert all(buffer.abs().sum() == 0 for buffer in buffers)


def test_the_recipe_of_the_paper_on_class_separation():
    recipe = find_recipe("cifar-separation")
    rates = [recipe.learning_rate * recipe.share(10 * epoch + 5, 300) for epoch in range(30)]
    assert rates == pytest.approx([0.01] * 20 + [0.002] * 5 + [0.0004] * 5)
    network = build(recipe.architecture, classes=10)
    # The usual WideResNet-28-10 has 36 479 194 parameters; convolutions of 16, 9 x 160, 9 x 320 and 9 x 640 channels
    # have a bias each here.
    assert sum(p.numel() for p in network.parameters()) == 36_479_194 + 16 + 9 * (160 + 320 + 640)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": -0.1}, "the radius of the noise must be a number of at least 0, got -0.1"),
        ({"noise": 5.0}, "pixels are from 0 to 1, so noise of up to 5.0 leaves nothing of them"),
        ({"noise": 0.1, "suite": "cifar10-c"}, "not with two of them"),
    ],
)
def test_what_noise_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        choose_treatment(**options)


def test_flips_and_crops_are_what_they_say():
    images = (
        torch.arange(1, 1 + 200 * 12, dtype=torch.int32).remainder(251).add(1).to(torch.uint8).reshape(200, 1, 3, 4)
    )
    ids = torch.arange(200)
    flipped = augment(images, ids, 5, flip=True, crop=0)
    is_mirrored = (flipped == images.flip(-1)).flatten(1).all(1)
    assert (is_mirrored | (flipped == images).flatten(1).all(1)).all()
    assert 70 <= is_mirrored.sum() <= 130  # 100 of 200, standard deviation 7: more than four of those
    shifted = augment(images, ids, 5, flip=False, crop=1)
    padded = torch.nn.functional.pad(images, (1,) * 4)
    offsets = {}
    for k in range(200):
        found = [
            (t, s) for t in range(3) for s in range(3) if torch.equal(padded[k, :, t : t + 3, s : s + 4], shifted[k])
        ]
        assert len(found) == 1
        offsets[found[0]] = offsets.get(found[0], 0) + 1
    assert len(offsets) == 9  # all nine places occur


def test_pixels_are_measured_exactly():
    x = torch.randint(0, 256, (70, 3, 5, 4), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    mean, std = measure_pixels(x)
    values = x.numpy().astype(np.float64) / 255
    assert np.allclose(mean, values.mean((0, 2, 3)), rtol=1e-12)
    assert np.allclose(std, values.std((0, 2, 3)), rtol=1e-12)
    assert measure_pixels(torch.full((2, 1, 2, 2), 9, dtype=torch.uint8))[1] == (
        1 / 255,
    )  # not zero: one divides by it


def test_fine_tuning_goes_on_from_given_weights(tmp_path):
    start = train(bars(), QUICK, tmp_path / "start.safetensors")
    tuned = train(bars(), QUICK, tmp_path / "tuned.safetensors", start=start, epochs=1, corruption="cifar10-c/contrast")
    assert read_origin(tuned)["recipe"]["learning_rate"] == pytest.approx(0.01)
    before, after = (scuff.evaluate(path, None, bars(seed=1), device="cpu") for path in (start, tuned))
    assert scuff.metrics.accuracy(after).value > scuff.metrics.accuracy(before).value - 0.05
    assert not same(weights(start), weights(tuned))
    for source, options, message in (
        (bars(), {"architecture": "resnet18_32"}, "does not hold the weights of resnet18_32"),
        (bars(channels=3), {}, "with 4 classes and 3 channels: "),
        (replace(bars(), class_names=tuple("abcde")), {}, "with 5 classes and 1 channels: "),
    ):
        with pytest.raises(ValueError, match=message):
            train(source, QUICK, tmp_path / "x.safetensors", start=start, **options)


def test_the_recipe_of_the_paper_squeezes_pictures_and_forgets_its_momentum(tmp_path):
    for name in ("n01440764", "n01443537"):
        (tmp_path / "train" / name).mkdir(parents=True)
        for k in range(2):
            Image.new("RGB", (40 + k, 30), (40 * k, 90, 30)).save(tmp_path / "train" / name / f"{k}.png")
    recipe = replace(
        find_recipe("imagenet-100"), batch_size=2, epochs=1, cut=replace(find_recipe("imagenet-100").cut, resize=32)
    )
    source = open_source(f"folder:{tmp_path / 'train'}")
    images = load_training_images(source, recipe, CPU)
    assert images.pixels.shape == (4, 3, 32, 32)
    network = first_weights(recipe, images, None, 0)
    assert network.fc.bias.unique().tolist() == [pytest.approx(0.01)]
    assert 0 < (network.bn1.weight - 1).std() < 0.04  # 0.02, of 64 draws
    bound = (6 / (64 * 9 + 64 * 9)) ** 0.5  # Xavier: uniform up to sqrt(6 / (fan in + fan out))
    assert 0.98 * bound < network.layer1[0].conv1.weight.abs().max() <= bound
    path = train(source, recipe, tmp_path / "net.safetensors")
    assert open_model(str(path)).mean is None  # no normalisation
    assert open_model(str(path)).cut == recipe.cut  # and its test pictures are squeezed, too
    steps = count_steps(replace(recipe, epochs=2), 4)
    assert [replace(recipe, epochs=2).share(k, steps) for k in range(steps)] == pytest.approx([1, 1, 0.1, 0.01])


def test_momentum_begins_anew_at_every_decay_of_such_a_recipe():
    recipe = replace(QUICK, optimiser="sgd", schedule="steps", decay_at=(0.5,), restarts_momentum="decay")
    training = begin(torch.nn.Linear(2, 2), recipe, CPU)
    training.network(torch.ones(1, 2)).sum().backward()
    training.optimiser.step()
    buffers = [state["momentum_buffer"] for state in training.optimiser.state.values()]
    fit._adjust(training.optimiser, recipe, 1, 4)
    assert all(buffer.abs().sum() > 0 for buffer in buffers)
    fit._adjust(training.optimiser, recipe, 2, 4)
    assert all(buffer.abs().sum() == 0 for buffer in buffers)
    assert training.optimiser.param_groups[0]["lr"] == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"recipe": replace(QUICK, batch_size=1000)}, "512 images do not fill one batch of 1000; use a smaller batch"),
        ({"recipe": replace(QUICK, optimiser="sgd", learning_rate=1e30)}, "the training diverged: .* below 1e\\+30"),
        ({"recipe": "cifar-fst"}, "no recipe is called 'cifar-fst'; did you mean cifar-fast?"),
        ({"architecture": "resnet19"}, "architecture must be one of small_cnn, .*, got 'resnet19'"),
        ({"corruption": "cifar10-c/fgo"}, "has no entry 'fgo'; did you mean fog"),
        (
            {"corruption": ["cifar10-c/fog", "imagenet-noc/rain"]},
            "expected corruptions of one suite, got cifar10-c, imag",
        ),
        ({"data": "cifar10-c:nowhere"}, "there is no file or folder nowhere"),
        ({"data": 3}, "data must be an address, as in 'cifar10:DIR', or a Source, got int"),
        ({"seed": 0.5}, "seed must be a whole number, got 0.5"),
        ({"out": "net.pt"}, "ends in .safetensors, got .*net.pt"),
        ({"recipe": 5}, "expected the name of a recipe, or a Recipe, got int"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
    ],
)
def test_what_makes_no_sense_is_explained(tmp_path, options, message):
    arguments = {"data": bars(), "recipe": QUICK, "out": "net.safetensors", **options}
    with pytest.raises(ValueError, match=message):
        train(arguments.pop("data"), arguments.pop("recipe"), tmp_path / arguments.pop("out"), **arguments)


def test_imagenet_100_is_every_tenth_class(tmp_path):
    names = scuff.data.imagenet.wordnet_ids()
    for place in (0, 5, 10, 990):
        (tmp_path / names[place]).mkdir()
        Image.new("L", (8, 8)).save(tmp_path / names[place] / "0.png")
    source = open_source(f"folder:{tmp_path}", classes="imagenet-100")
    assert source.labels.tolist() == [0, 1, 99]
    assert source.class_names == names[::10]
    assert source.classes is None  # a model that is trained on them has a hundred outputs


def test_pictures_are_evaluated_at_the_size_they_were_trained_at(tmp_path):
    """A network that has learnt small pictures by heart knows them again."""
    source = bars(128, channels=3)
    for image, label, place in zip(source.images.array, source.labels, range(128), strict=True):
        (tmp_path / "data" / str("abcd"[label])).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(tmp_path / "data" / "abcd"[label] / f"{place}.png")
    path = train(f"folder:{tmp_path / 'data'}", replace(QUICK, epochs=6), tmp_path / "net.safetensors")
    rows = scuff.evaluate(path, None, f"folder:{tmp_path / 'data'}", device="cpu")
    assert scuff.metrics.accuracy(rows).value > 0.97
    array = train(source, replace(QUICK, epochs=6), tmp_path / "array.safetensors")
    rows = scuff.evaluate(array, None, f"folder:{tmp_path / 'data'}", device="cpu")
    assert scuff.metrics.accuracy(rows).value > 0.97
    turned = replace(source, class_names=("d", "a", "b", "c"))
    with pytest.raises(ValueError, match="array has the classes of bars in another order: class 0 is a for the model"):
        scuff.evaluate(array, None, turned, device="cpu")


@pytest.mark.parametrize(
    "wrong",
    [
        {"batch_size": 1},
        {"crop": 1.5},
        {"learning_rate": "high"},
        {"label_smoothing": 1.0},
        {"decay_at": (0.5, 1.5)},
        {"schedule": "none"},
        {"precision": "float16"},
        {"restarts_momentum": "decay"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_recipe_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError, match=f"the recipe quick: .*{next(iter(wrong)).partition('_')[0]}|float16"):
        replace(QUICK, **wrong)


def test_the_command_line_trains_and_tells_the_accuracy(tmp_path):
    for name, source in (("train", bars()), ("test", bars(seed=1))):
        np.savez(tmp_path / f"{name}.npz", images=source.images.array, labels=source.labels)
    data, test, out = f"npz:{tmp_path / 'train.npz'}", f"npz:{tmp_path / 'test.npz'}", tmp_path / "net.safetensors"
    words = ["train", "--data", data, "--test", test, "--recipe", "fashion", "--out", str(out), "--device", "cpu"]
    result = CliRunner().invoke(app, [*words, "--corruption", "cifar10-c/contrast"])
    assert result.exit_code == 0, result.output
    accuracy = scuff.metrics.accuracy(scuff.evaluate(out, None, test, device="cpu"))
    assert f"Accuracy on test images: {100 * accuracy.value:.2f} %" in result.output
    other = CliRunner().invoke(app, [*words, "--seed", "1"])
    assert other.exit_code == 2
    assert "was trained otherwise (seed, corrupted differ)" in other.output


def test_a_dry_run_says_what_a_training_costs_and_writes_nothing(tmp_path):
    source = bars()
    np.savez(tmp_path / "train.npz", images=source.images.array, labels=source.labels)
    data, out = f"npz:{tmp_path / 'train.npz'}", tmp_path / "net.safetensors"
    words = ["train", "--data", data, "--recipe", "fashion", "--out", str(out), "--device", "cpu", "--dry-run"]
    result = CliRunner().invoke(app, [*words, "--corruption", "cifar10-c/contrast"])
    assert result.exit_code == 0, result.output
    assert "measured now on a few images" in result.output
    assert "On 1 processor: about" in result.output
    assert [file.name for file in tmp_path.iterdir()] == ["train.npz"]
    wrong = CliRunner().invoke(app, [*words, "--corruption", "cifar10-c/no-such"])
    assert wrong.exit_code == 2  # as without --dry-run
    out.touch()
    assert "To compute: nothing" in CliRunner().invoke(app, words).output


def test_a_batch_that_does_not_fit_into_memory_is_explained(tmp_path, monkeypatch):
    def run_out(*arguments, **options):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(run_module, "fit", run_out)
    with pytest.raises(MemoryError, match="a batch of 64 does not fit into memory; take a smaller one"):
        train(bars(), QUICK, tmp_path / "net.safetensors")
