"""Recipes: those of the papers, and files of one's own."""

from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
import torch
from made_images import bars

from scuff.models import build
from scuff.pictures import Cut
from scuff.training import RECIPES, Recipe, find_recipe, recipes, train
from scuff.training.images import load_training_images
from scuff.training.run import first_weights

CPU = torch.device("cpu")
IMAGENET = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


def rates(recipe, steps=10):
    """The learning rate in the middle of every epoch."""
    return [
        recipe.learning_rate * recipe.share(steps * e + steps // 2, steps * recipe.epochs) for e in range(recipe.epochs)
    ]


def test_resnet50_is_trained_as_goyal_et_al_did():
    recipe = find_recipe("imagenet-resnet50")
    assert rates(recipe) == pytest.approx([0.1] * 30 + [0.01] * 30 + [0.001] * 20 + [0.0001] * 10)
    assert (recipe.batch_size, recipe.weight_decay, recipe.momentum, recipe.nesterov) == (256, 1e-4, 0.9, True)
    assert (recipe.crop_area, recipe.sides, recipe.cut) == ((0.08, 1.0), (224,), Cut(256, 224))
    assert {"mean": recipe.mean, "std": recipe.std} == IMAGENET
    small = replace(recipe, mean=(), std=(), crop_area=())
    network = first_weights(small, load_training_images(bars(8, channels=3), small, CPU), None, 0)
    assert sum(p.numel() for p in network.parameters()) == sum(p.numel() for p in build("resnet50", 4).parameters())
    blocks = [block for group in range(1, 5) for block in network.get_submodule(f"layer{group}")]
    assert all(not block.bn3.weight.any() and block.bn2.weight.all() for block in blocks)


def test_the_short_recipe_grows_its_pictures_in_the_last_quarter():
    recipe = find_recipe("imagenet-fast")
    assert [recipe.side(epoch) for epoch in range(16)] == [160] * 12 + [192] * 4
    assert max(rates(recipe)) == pytest.approx(recipe.learning_rate, rel=0.25)
    assert rates(recipe).index(max(rates(recipe))) == 2  # the peak is after two epochs
    assert recipe.cut == Cut(256, 224)


def test_imagenet_100_is_trained_as_each_paper_did():
    squeezed, cropped = find_recipe("imagenet-100"), find_recipe("imagenet-100-crop")
    for recipe in (squeezed, cropped):
        # 40 epochs over two copies of the images; the rate falls after half and three quarters of them
        assert rates(recipe) == pytest.approx([0.1] * 40 + [0.01] * 20 + [0.001] * 20)
        assert (recipe.batch_size, recipe.nesterov, recipe.restarts_momentum) == (256, False, "decay")
    assert (squeezed.crop_area, squeezed.normalises) == ((), False)
    assert (cropped.crop_area, cropped.normalises, cropped.mean) == ((0.08, 1.0), True, IMAGENET["mean"])
    assert cropped.cut == Cut(256, 224, "box", keeps_ratio=False)


def test_fields_that_came_later_are_written_down_only_where_they_say_something():
    assert not set(recipes.ADDED) & find_recipe("cifar").settings().keys()
    assert find_recipe("imagenet-100-crop").settings()["crop_area"] == (0.08, 1.0)


def test_every_file_is_a_recipe():
    names = {Path(f.name).stem for f in resources.files("scuff.training.recipes").iterdir() if f.name.endswith(".yaml")}
    assert names == set(RECIPES)
    assert all(recipe.about for recipe in RECIPES.values())


def test_a_file_of_ones_own_can_be_trained_with(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("based_on: fashion\nbatch_size: 16\ndecay_at: [0.5]\n")
    assert find_recipe(str(file)) == replace(
        find_recipe("fashion"), name="mine", batch_size=16, decay_at=(0.5,), about=find_recipe("fashion").about
    )
    train(bars(32), str(file), tmp_path / "net.safetensors", epochs=1)
    file.write_text("{architecture: small_cnn, epochs: 2, batch_size: 8, learning_rate: 0.5, cut: {resize: 32}}")
    assert find_recipe(file) == Recipe("mine", "small_cnn", 2, 8, 0.5, cut=Cut(32))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{based_on: fasion}", "no recipe is called 'fasion'; did you mean fashion?"),
        ("{based_on: fashion, batchsize: 3}", "a recipe has no 'batchsize'; did you mean batch_size?"),
        ("{based_on: fashion, decay_at: 0.5}", "decay_at must be a list, got 0.5"),
        ("{based_on: fashion, flip: 1}", "flip must be true or false, got 1"),
        ("{based_on: fashion, cut: {size: 3}}", "a cut has resize, crop, filter and keeps_ratio, got size"),
        ("{based_on: fashion, epochs: many}", "epochs must be a whole number of at least 1, got 'many'"),
        ("{architecture: small_cnn, epochs: 2}", "batch_size, learning_rate is missing"),
        ("{based_on: fashion, crop_area: [1.0, 0.5]}", "crop_area must be two shares of a picture's area"),
        ("{based_on: fashion, sides: [160, 192]}", "sides must be one more than grows_at"),
        ("{based_on: fashion, sides: [0]}", "sides must be whole numbers of pixels"),
        ("{based_on: fashion, crop: 2, crop_area: [0.5, 1.0]}", "by crop or by crop_area, not by both"),
        ("{based_on: fashion, mean: [0.5]}", "mean and std need as many numbers each"),
        ("{based_on: fashion, mean: [0.5], std: [0.0]}", "std above 0"),
        ("{based_on: fashion, grows_at: [1.5], sides: [1, 2]}", "grows_at are shares of all epochs"),
        ("- fashion", "expected a mapping"),
    ],
)
def test_what_a_file_cannot_say_is_explained(tmp_path, text, message):
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(ValueError, match=message):
        find_recipe(str(tmp_path / "mine.yaml"))
    with pytest.raises(ValueError, match=r"cannot read the recipe file .*other.yaml: No such file"):
        find_recipe(str(tmp_path / "other.yaml"))
