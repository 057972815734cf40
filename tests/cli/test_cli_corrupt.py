"""`scuff corrupt` as its user meets it: messages, exit codes, Ctrl-C."""

import contextlib
import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from scuff.cli import app
from scuff.engine import LocalEngine
from scuff.export import export

SCUFF = [sys.executable, "-c", "from scuff.cli import app; app()"]
FEW = ["--only", "contrast,brightness", "--severity", "1,3", "--workers", "0"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run `scuff corrupt` in a folder with two pictures in `in`."""
    monkeypatch.chdir(tmp_path)
    Path("in", "deep").mkdir(parents=True)
    Image.new("RGB", (20, 16), (200, 100, 50)).save("in/a.png")
    Image.new("RGB", (20, 16), (20, 100, 250)).save("in/deep/b.jpg")
    return lambda *arguments: CliRunner().invoke(app, ["corrupt", *map(str, arguments)])


def files(folder: str) -> list[str]:
    """All files but the journals of runs."""
    found = (p.relative_to(folder) for p in Path(folder).rglob("*") if p.is_file())
    return sorted(p.as_posix() for p in found if p.parts[0] != "progress")


def assert_refused(result, *words: str) -> None:
    """Exit code 2, one line on stderr, no traceback."""
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert len(result.stderr.splitlines()) == 1
    for word in ("Error: ", *words):
        assert word in result.stderr


def assert_unreadable(result, *words: str) -> None:
    """Exit code 2, and all pictures that cannot be read on stderr."""
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    for word in ("Error: ", "cannot be read:\n", "--skip-unreadable", *words):
        assert word in result.stderr


def test_a_folder(run):
    result = run("in", "out", *FEW)
    assert result.exit_code == 0, result.output
    assert "2 images x 2 corruptions x severities 1,3" in result.stdout
    assert "Made 8; existing: 0" in result.stdout
    assert result.stderr == ""
    assert len(files("out")) == 9
    assert "Made 0; existing: 8" in run("in", "out", *FEW).stdout


def test_a_single_picture_is_corrupted_as_in_its_folder(run):
    result = run("in/a.png", "one", *FEW)
    assert result.exit_code == 0, result.output
    assert "1 images x 2 corruptions x severities 1,3" in result.stdout
    assert run("in", "out", *FEW).exit_code == 0
    made = [name for name in files("one") if name.endswith(".png")]
    assert made == [f"{entry}/{level}/a.png" for entry in ("brightness", "contrast") for level in (1, 3)]
    assert all(Path("one", name).read_bytes() == Path("out", name).read_bytes() for name in made)
    Path("in/notes.txt").write_text("no picture")
    assert_refused(run("in/notes.txt", "other", *FEW), "expected a folder of pictures, a picture (.jpg .jpeg")


@pytest.mark.parametrize("option", [["--as-published"], ["--save", "jpeg"]])
def test_as_published_is_jpeg(run, option):
    assert run("in", "out", *FEW, *option).exit_code == 0
    with Image.open("out/contrast/1/deep/b.jpg") as picture:
        assert picture.format == "JPEG"
    export("in", "same", save="jpeg", only=["contrast", "brightness"], severities=[1, 3], engine=LocalEngine(1))
    assert Path("out/contrast/1/deep/b.jpg").read_bytes() == Path("same/contrast/1/deep/b.jpg").read_bytes()


def test_every_option_reaches_the_export(run):
    options = ["--suite", "cifar10-c", "--seed", 7, "--resize", 12, "--crop", 10, "--layout", "folder"]
    assert run("in", "out", *options, "--only", "gaussian_noise", "--severity", 2, "--workers", 0).exit_code == 0
    export(
        "in",
        "same",
        "cifar10-c",
        seed=7,
        resize=12,
        crop=10,
        only=["gaussian_noise"],
        severities=[2],
        engine=LocalEngine(1),
    )
    assert files("out") == files("same")
    for name in files("out"):
        assert Path("out", name).read_bytes() == Path("same", name).read_bytes()


def test_an_array(run):
    np.savez("data.npz", images=np.full((3, 8, 8, 3), 77, np.uint8), labels=np.arange(3))
    assert run("data.npz", "out", "--suite", "cifar10-c", *FEW).exit_code == 0
    assert files("out") == ["brightness.npy", "contrast.npy", "labels.npy", "scuff.json"]
    assert run("data.npz", "out2", "--suite", "cifar10-c", "--layout", "npz", *FEW).exit_code == 0
    assert "contrast/3.npz" in files("out2")


def test_shards(run):
    result = run("in", "out", "--layout", "webdataset", "--shard", 1, *FEW)
    assert result.exit_code == 0, result.output
    assert "To make: 8 shards; existing: 0." in result.stdout
    assert "contrast/3/shard-000001.tar" in files("out")
    assert "shards.json" in files("out")


def test_what_shards_lack_is_said_by_every_run(run):
    Path("in/text.png").write_text("hello")
    for made in (4, 0):
        assert_unreadable(run("in", "out", "--layout", "webdataset", *FEW), "  text.png: not a picture")
        result = run("in", "out", "--layout", "webdataset", *FEW, "--skip-unreadable")
        assert result.exit_code == 0
        assert "cannot be read: 1 pictures\n  text.png: not a picture" in result.stdout
        assert f"Made {made};" in result.stdout


def test_a_destination_elsewhere(run):
    result = run("in", "memory://corrupt-elsewhere", *FEW)
    assert result.exit_code == 0, result.output
    assert "Made 8; existing: 0; in memory://corrupt-elsewhere." in result.stdout
    assert "existing: 8." in run("in", "memory://corrupt-elsewhere", "--dry-run", *FEW).stdout


def test_validation_corruptions_are_asked_for(run):
    assert "saturate" not in run("in", "out", "--dry-run").stdout
    assert "saturate" not in run("in", "out", "--dry-run", "--no-validation").stdout
    assert "saturate" in run("in", "out", "--dry-run", "--validation").stdout


def test_a_dry_run_writes_nothing(run):
    result = run("in", "out", "--dry-run")
    assert result.exit_code == 0
    assert "To make: 150 files; existing: 0" in result.stdout
    assert re.search(r"To compute: \S+ CPU hours; \d+ kB of files\.\n", result.stdout)
    assert re.search(r"With \d workers? on this machine: about \d+ s\.\n", result.stdout)
    assert not Path("out").exists()


def test_a_dry_run_says_when_there_is_nothing_to_go_by(run):
    assert "no estimate" in run("in", "out", "--dry-run", "--crop", "1000").stdout
    for name in ("in/a.png", "in/deep/b.jpg"):
        Path(name).write_text("hello")
    for further in ([], ["--skip-unreadable"]):
        assert_unreadable(run("in", "out", "--dry-run", *further), "2 of 2 pictures of in cannot be read")


def test_unreadable_files_are_all_listed_at_the_start(run):
    Path("in/text.png").write_text("hello")
    Path("in/dangling.jpg").symlink_to("nowhere")
    listed = "  dangling.jpg: No such file or directory\n  text.png: not a picture\n"
    assert_unreadable(run("in", "out", *FEW), f"2 of 4 pictures of in cannot be read:\n{listed}")
    assert not Path("out").exists()
    result = run("in", "out", *FEW, "--skip-unreadable")
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"Left out, because they cannot be read: 2 pictures\n{listed}To make: 8 files" in result.stdout
    assert "Made 8" in result.stdout


def test_pictures_too_small_for_the_crop_are_listed_at_the_end(run):
    Image.new("RGB", (5, 5)).save("in/tiny.png")
    result = run("in", "out", *FEW, "--crop", "8")
    assert result.exit_code == 1
    assert result.stderr.startswith("1 pictures could not be used:\n  tiny.png: 5 x 5 pixels are too few")
    assert run("in", "out", *FEW, "--crop", "8", "--skip-unreadable").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gone", "out"], ["no file or folder gone"]),
        (["empty", "out"], ["no pictures in empty"]),
        (["in", "in/out"], ["inside each other"]),
        (["in/deep", "in"], ["inside each other"]),
        (["in", "out", "--suite", "imagenet-d"], ["'imagenet-d'", "imagenet-c"]),
        (["in", "out", "--suite", "odd.yaml"], ["Error: no corruption is called 'fogg'; did you mean fog?\n"]),
        (["in", "out", "--only", "fog,snwo"], ["'snwo'", "snow"]),
        (["in", "out", "--only", ","], ["no corruption is chosen"]),
        (["in", "out", "--severity", "0"], ["from 1 to 5, got 0"]),
        (["in", "out", "--severity", "1-3"], ["as in 1,3; got '1-3'"]),
        (["in", "out", "--save", "gif"], ["png or jpeg"]),
        (["in", "out", "--as-published", "--save", "png"], ["--as-published means --save jpeg"]),
        (["in", "out", "--layout", "npz"], ["layout folder"]),
        (["in", "out", "--workers", "-1"], ["workers must be at least 0"]),
        (["in", "out", "--address", "auto"], ["--engine ray"]),
        (["in", "out", "--shard", "5"], ["only the layout webdataset has shards"]),
        (["s3://bucket/in", "out"], ["the source must be a folder or file of this machine"]),
    ],
)
def test_refusals(run, arguments, words):
    Path("empty").mkdir()
    Path("odd.yaml").write_text("{suite: odd, version: 1, size: 32, severities: 1, entries: {fogg: {a: 1}}}")
    assert_refused(run(*arguments), *words)
    assert not Path("out").exists()


def test_two_sources_of_one_name_are_refused(run):
    Image.new("RGB", (5, 5)).save("in/a.jpg")
    assert_refused(run("in", "out", *FEW), "a.jpg and a.png would both become a.png")


def test_other_settings_are_refused(run):
    run("in", "out", *FEW)
    assert_refused(run("in", "out", *FEW, "--seed", 1), "out was made with other settings: seed was 0, is now 1")


def test_a_destination_that_cannot_be_written_is_explained(run):
    Path("file").write_text("in the way")
    assert_refused(run("in", "file/out", *FEW), "file")


def test_a_full_disk_is_explained(run, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("scuff.export.images.encode", full)
    result = run("in", "out", *FEW)
    assert result.exit_code == 1
    assert (
        result.stderr == "Error: the disk of out is full; finished files are valid: make room and run the same again\n"
    )


# --- Ctrl-C and worse, in real processes ------------------------------------------------------------------------------


@pytest.fixture
def start(run):
    """Start `scuff corrupt` as a group of processes of its own, and wait for its first result."""
    noise = np.random.default_rng(0).integers(0, 256, (16, 200, 200, 3), dtype=np.uint8)
    for number, pixels in enumerate(noise):
        Image.fromarray(pixels).save(f"in/{number}.png")
    started = []

    def begin(*arguments: str) -> subprocess.Popen:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen([*SCUFF, "corrupt", "in", "out", *arguments], start_new_session=True, **pipes)
        started.append(process)
        assert wait_for(lambda: [p for p in Path().glob("out/*/*/*") if p.suffix in (".png", ".tar")], 240)
        return process

    yield begin
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def living_processes(group: int) -> dict[int, str]:
    """The processes of a group and their commands, without those that are dead and wait to be noticed."""
    table = subprocess.run(["ps", "-A", "-ww", "-o", "pid=,pgid=,stat=,args="], capture_output=True, text=True).stdout
    rows = [line.split(None, 3) for line in table.splitlines()]
    return {int(pid): args for pid, pgid, stat, args in rows if int(pgid) == group and not stat.startswith("Z")}


def wait_for(condition, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


@pytest.mark.parametrize("workers", ["0", "2"])
def test_ctrl_c_stops_promptly_and_the_same_command_goes_on(run, start, workers):
    process, pictures = start("--workers", workers), 18 * 75
    before = len(files("out"))
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 130
    assert errors == "Interrupted. Run the same command again to go on from here.\n"
    assert wait_for(lambda: not living_processes(process.pid), 60), living_processes(process.pid)
    written = [name for name in files("out") if name != "scuff.json"]
    # Promptness by work, not by the clock, which a busy machine stretches: what was begun is finished, eight pictures
    # in each process; a tenth of all are 1.5 s.
    assert 0 < len(written) < before + pictures // 10
    for name in written:
        with Image.open(Path("out", name)) as picture:
            picture.load()
    left = run("in", "out", "--dry-run").stdout
    existing = int(re.search(r"existing: (\d+)\.", left)[1])
    # A worker that a busy machine holds up between two lines for a second may end before it has noted its last file.
    assert len(written) - int(workers) <= existing <= len(written), left


def workers_of(process: subprocess.Popen) -> list[int]:
    """The worker processes of a run."""
    return [pid for pid, command in living_processes(process.pid).items() if "spawn_main" in command]


@pytest.mark.slow
def test_a_killed_worker_is_replaced(start):
    process = start("--workers", "2", "--only", "contrast,brightness")
    before = workers_of(process)
    assert len(before) == 2
    os.kill(before[0], signal.SIGKILL)
    output, errors = process.communicate(timeout=240)
    assert (process.returncode, errors) == (0, "")
    assert f"Made {18 * 10}; existing: 0" in output
    whole = [name for name in files("out") if not name.endswith(".tmp")]  # the killed one may have been writing
    assert len(whole) == 18 * 10 + 1
    (journal,) = Path("out/progress").glob("*.json")
    assert json.loads(journal.read_text())["cells"]["corrupt"]["retried"] > 0


def test_workers_do_not_outlive_a_main_process_that_was_killed_and_its_shards_are_whole(run, start):
    options = ["--layout", "webdataset", "--shard", "2", "--only", "contrast,brightness"]
    process = start("--workers", "2", *options)
    # What a run that is killed has made is believed once it is sealed, which happens every few seconds, or at the end.
    assert wait_for(lambda: [*Path("out").rglob("*.seals")], 240)
    process.kill()
    process.communicate(timeout=240)
    assert wait_for(lambda: not living_processes(process.pid), 60), living_processes(process.pid)
    resumed = run("in", "out", "--workers", "0", *options)
    assert resumed.exit_code == 0
    assert "existing: 0;" not in resumed.stdout
    run("in", "fresh", "--workers", "0", *options)
    whole = [name for name in files("out") if not name.endswith(".tmp")]
    assert whole == files("fresh")
    assert [n for n in whole if Path("out", n).read_bytes() != Path("fresh", n).read_bytes()] == []
