"""`scuff doctor`: what it says about an installation, and that it keeps secrets."""

import sys
from importlib import metadata

import pytest
import torch
from typer.testing import CliRunner

import scuff
from scuff import doctor
from scuff.cli import app

SECTIONS = ("scuff", "machine", "packages", "optional parts", "caches", "trial")


def test_it_names_versions_devices_caches_and_parts(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert [line for line in lines if line in SECTIONS] == list(SECTIONS)
    facts = {line.split()[0]: " ".join(line.split()[1:]) for line in lines if line.startswith("  ")}
    assert facts["version"] == scuff.__version__
    assert facts["torch"] == metadata.version("torch")
    assert facts["OMP_NUM_THREADS"] == "1"
    assert facts["cpu"] == "3 corruptions, all as they should be"
    assert "hf_secret" not in result.output


def test_it_says_what_is_missing_and_how_to_get_it(monkeypatch):
    monkeypatch.setattr(doctor, "EXTRAS", {"report": ("jinja2",), "s3": ("no_such_package",)})
    monkeypatch.setattr(doctor, "_trial", lambda: [("cpu", "fine")])
    result = CliRunner().invoke(app, ["doctor"])
    assert '  pip install "scuff[s3]"       folders like s3://bucket/out\n' in result.output
    assert "no_such_package missing" in result.output
    assert 'scuff[report]"' not in result.output


def test_extras_that_say_what_they_are_good_for_exist():
    assert doctor.GAINS.keys() <= doctor.EXTRAS.keys()


def test_what_is_broken_does_not_hide_the_rest(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as where its libraries are missing
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert "FAILED: ModuleNotFoundError: import of torch halted" in result.output
    assert [line for line in result.output.splitlines() if line in SECTIONS] == list(SECTIONS)


@pytest.mark.parametrize("wrong", ["pixels", "error"])
def test_wrong_pixels_are_noticed(monkeypatch, wrong):
    def broken(pixels, name, severity):
        if wrong == "error":
            raise RuntimeError("no kernel image")
        return torch.rand(3) if name == doctor.TRIAL[1] else pixels

    monkeypatch.setattr("scuff.door.corrupt", broken)
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert {"pixels": "WRONG PIXELS", "error": "FAILED: RuntimeError: no kernel image"}[wrong] in result.output
