"""Several processes train one network: they compute what one would, repeat it, go on with it, and end together."""

import os
import signal
import subprocess
import sys
import time
from ast import literal_eval
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
import typer
from made_images import bars
from team_program import COUNT, CPU, OPTIMISERS, QUICK, TREATMENTS, plain_network
from torch.nn import functional as F
from typer.testing import CliRunner

from scuff.cli import app
from scuff.cli.team import training_job
from scuff.launch import check_processes
from scuff.models import open_model, read_origin
from scuff.training import train
from scuff.training.distributed import ALONE, Part, Team, check_batch, device_of, find_team
from scuff.training.fit import begin, blocks, count_steps
from scuff.training.images import load_training_images, normalisation_of
from scuff.training.resume import partial_file
from scuff.training.treatment import choose_treatment

PROGRAM = Path(__file__).with_name("team_program.py")
TEAM = [Team(rank, 2) for rank in range(2)]
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}
# The program imports what tests share, which lies in the folder above.
ONE_THREAD["PYTHONPATH"] = os.pathsep.join([str(PROGRAM.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])


def weights(path):
    return open_model(str(path)).model.state_dict()


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.values(), other.values(), strict=True))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What two processes, started by torchrun, have left."""
    folder = tmp_path_factory.mktemp("team")
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run([*launcher, PROGRAM, folder], env=ONE_THREAD, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return folder


# --- what processes compute together ----------------------------------------------------------------------------------


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_two_processes_compute_what_one_would_of_the_batches_put_together(made, optimiser):
    recipe = replace(QUICK, optimiser=optimiser, flip=False, crop=0)
    images = load_training_images(bars(COUNT), recipe, CPU)
    factor, summand = normalisation_of(images, recipe, CPU)
    training, step, steps = begin(plain_network(), recipe, CPU), 0, count_steps(recipe, COUNT)
    highest = [recipe.matrix_rate, recipe.learning_rate][-len(training.optimiser.param_groups) :]
    for epoch in range(recipe.epochs):
        shares = []
        for team in TEAM:
            rows = slice(team.rank, None, 2)
            part = Part(team, COUNT)
            (places, pixels), *more = blocks(images.pixels[rows], recipe, 0, 4 * epoch, CPU, None, part=part)
            assert not more
            shares.append((pixels.split(8), images.labels[rows][places].split(8)))
        for batch in range(4):
            x = torch.cat([pixels[batch] for pixels, _ in shares])
            y = torch.cat([labels[batch] for _, labels in shares])
            for group, rate in zip(training.optimiser.param_groups, highest, strict=True):
                group["lr"].fill_(rate * recipe.share(step, steps))
            training.optimiser.zero_grad()
            F.cross_entropy(training.network(x * factor + summand), y).backward()
            training.optimiser.step()
            step += 1
    expected = training.network.state_dict()
    found = [safetensors.torch.load_file(made / f"plain {optimiser} {team.rank}.safetensors") for team in TEAM]
    assert same(*found)
    start = plain_network().state_dict()
    for name, value in expected.items():
        # A mean of 16 gradients is rounded otherwise than a mean of two means of 8: by some 2**-24 of values up to 1
        # in each of 8 steps, which later ones enlarge a little. What was learned is a thousand times as much.
        assert (found[0][name] - value).abs().max() < 1e-5
        assert (value - start[name]).abs().max() > 1e-2


def test_pixels_are_measured_over_the_images_of_all_processes(made):
    images = load_training_images(bars(COUNT), QUICK, CPU)
    for team in TEAM:
        found = literal_eval((made / f"look {team.rank}.txt").read_text())
        assert found == (images.mean, images.std, images.fingerprint)


@pytest.mark.parametrize("name", TREATMENTS)
def test_every_treatment_can_be_trained_with(made, name):
    origin = read_origin(made / f"{name}.safetensors")
    assert origin["processes"] == 2
    assert [origin[key] is None for key in ("corrupted", "noise", "augment")].count(False) == 1


def test_the_same_processes_give_the_same_weights_and_others_do_not(made, tmp_path):
    two, again = weights(made / "corruption.safetensors"), weights(made / "again.safetensors")
    assert same(two, again)
    one = train(bars(COUNT), QUICK, tmp_path / "one.safetensors", device="cpu", **TREATMENTS["corruption"])
    assert not same(weights(one), two)
    assert "processes" not in read_origin(one)
    with pytest.raises(ValueError, match=r"was trained otherwise \(processes differ\)"):
        train(bars(COUNT), QUICK, made / "corruption.safetensors", device="cpu", **TREATMENTS["corruption"])


def test_an_interrupted_training_ends_as_if_it_had_not_been(made):
    assert literal_eval((made / "seen 0.txt").read_text()) == [4, 5, 6, 7, 8]  # in the middle of an epoch
    assert (made / "seen 1.txt").read_text() == "[]"  # the first process alone tells of progress
    assert same(weights(made / "whole.safetensors"), weights(made / "resumed.safetensors"))
    assert not any(partial_file(made / f"{name}.safetensors").exists() for name in ("whole", "resumed"))


def test_processes_raise_their_errors_together(made):
    first, second = ((made / f"errors {team.rank}.txt").read_text().splitlines() for team in TEAM)
    expected = [
        "adversarial noise (ant) is learned by one process",
        "a batch of 15 cannot be shared out equally among 2 processes",
        "12 images do not fill one batch of 16",
        "Error: only the second knows",
        "the processes do not have the same images",
    ]
    assert len(first) == len(second) == len(expected)
    for one, other, words in zip(first, second, expected, strict=True):
        assert words in one
        assert words in other
    assert first[3].startswith("ValueError")
    assert second[3].startswith("KeyError")


# --- who has what -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="reads the names of threads from /proc")
def test_no_thread_of_the_group_outlives_it(made):
    """One that still holds a tensor while Python shuts down would abort the process."""
    for team in TEAM:
        names = (made / f"threads {team.rank}.txt").read_text().splitlines()
        assert names
        assert not [name for name in names if "gloo" in name]


def test_an_image_draws_the_same_whoever_has_it():
    images = load_training_images(bars(COUNT), QUICK, CPU)
    noise = choose_treatment(noise=0.1)
    (places, pixels), *_ = blocks(images.pixels, replace(QUICK, batch_size=COUNT), 0, 0, CPU, noise)
    whole = torch.empty_like(pixels)
    whole[places] = pixels
    seen = []
    for team in TEAM:
        part = Part(team, COUNT)
        (places, pixels), *_ = blocks(images.pixels[team.rank :: 2], QUICK, 0, 0, CPU, noise, part=part)
        seen.append(part.places()[places])
        # The noise of one image is computed beside others; a vectorised sum may round otherwise, by 2**-24 of 255.
        assert (whole[seen[-1]] - pixels).abs().max() <= 255 * 2**-22
        later, _ = next(blocks(images.pixels[team.rank :: 2], QUICK, 0, 4, CPU, None, part=part))
        assert not torch.equal(later, places)
    assert torch.cat(seen).unique().numel() == 64  # four batches of 16, each image once
    assert not torch.equal(seen[0] // 2, seen[1] // 2)  # each process has an order of its own


def test_all_processes_have_equally_many_batches_and_every_image_has_a_place():
    for total in (31, 32, 33, 47, 75):
        parts = [Part(Team(rank, 4), total) for rank in range(4)]
        places = torch.cat([part.places() for part in parts])
        assert torch.equal(places.sort().values, torch.arange(total))
        for part in parts:
            assert part.batches(8) * part.batch_of(8) <= len(part.places())


# --- what is refused --------------------------------------------------------------------------------------------------


def test_what_processes_cannot_do(monkeypatch):
    for size in (3, 16):
        with pytest.raises(ValueError, match=f"a batch of 16 cannot be shared out equally among {size} processes"):
            check_batch(16, Team(0, size))
    check_batch(16, Team(0, 8))
    with pytest.raises(ValueError, match="expected at least 1 process, got 0"):
        check_processes(0, "cpu")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    check_processes(1, "cuda:0")
    with pytest.raises(ValueError, match="2 processes need as many GPUs, but torch finds 1 on this machine"):
        check_processes(2, "cuda")
    with pytest.raises(ValueError, match="2 processes need a GPU each, so not cuda:0 for all"):
        check_processes(2, "cuda:0")
    monkeypatch.setenv("LOCAL_RANK", "1")
    with pytest.raises(ValueError, match="2 processes need as many GPUs"):
        device_of(Team(1, 2), "cuda")
    with pytest.raises(ValueError, match="every process takes a GPU of its own"):
        device_of(Team(1, 2), "cuda:0")


def test_a_process_knows_its_number_from_the_environment(monkeypatch):
    assert find_team() == ALONE
    for name, value in {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4"}.items():
        monkeypatch.setenv(name, value)
    assert find_team() == Team(5, 8, 4)
    words = ["train", "--data", "fashion", "--recipe", "fashion", "--out", "x.safetensors", "--nproc", "2"]
    wrong = CliRunner().invoke(app, words)
    assert wrong.exit_code == 2
    assert "4 processes were started on this machine; leave out --nproc 2" in wrong.output


# --- the command ------------------------------------------------------------------------------------------------------


def start(data, out, *words):
    """`scuff train --nproc 2` on a few small images."""
    source = bars(300)
    np.savez(data, images=source.images.array, labels=source.labels)
    command = [sys.executable, "-m", "scuff", "train", "--data", f"npz:{data}", "--recipe", "fashion", "--nproc", "2"]
    options = ["--out", str(out), "--device", "cpu", *words]
    return subprocess.Popen(
        [*command, *options], env=ONE_THREAD, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_the_command_goes_on_with_two_processes_as_if_nothing_had_happened(made):
    """What it goes on from is left by a program that was started by torchrun, and went on to the end itself."""
    out = made / "command.safetensors"
    assert partial_file(out).exists()
    process = start(made / "data.npz", out, "--noise", "0.1")
    said, complaints = process.communicate(timeout=240)
    assert process.returncode == 0, complaints
    assert said == f"Weights: {out}\n"  # once, not twice
    assert complaints == ""
    assert read_origin(out) == read_origin(made / "fashion.safetensors")
    assert same(weights(out), weights(made / "fashion.safetensors"))
    assert not partial_file(out).exists()


@pytest.mark.slow
def test_ctrl_c_ends_all_processes(tmp_path):
    out = tmp_path / "new" / "net.safetensors"
    process = start(tmp_path / "data.npz", out, "--epochs", "100000")
    deadline = time.monotonic() + 240
    while not out.parent.exists():  # it is made where the training begins
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said, complaints = process.communicate(timeout=240)
    assert process.returncode == 130
    assert (said, complaints) == ("", "Interrupted. Run the same command again to go on from here.\n")


def test_a_mistake_that_all_processes_have_is_told_by_the_first(monkeypatch, capsys):
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    before = signal.getsignal(signal.SIGINT)
    try:
        for error, code, words in (
            (ValueError("all know"), 2, ""),
            (MemoryError("no room here"), 1, "Error: process 1: no room here\n"),
        ):
            with pytest.raises(typer.Exit) as ended, training_job(rank=1):
                raise error
            assert ended.value.exit_code == code
            assert capsys.readouterr().err == words
    finally:
        signal.signal(signal.SIGINT, before)
    with pytest.raises(ValueError, match="all know"), training_job(rank=0):
        raise ValueError("all know")
