"""`scuff stream`: lists, shows, draws and exports."""

import pandas as pd
from PIL import Image
from typer.testing import CliRunner

from scuff.cli import app
from scuff.streams import list_recipes, load_recipe


def call(*words: str) -> str:
    result = CliRunner().invoke(app, ["stream", *words], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.output


def test_list_names_all() -> None:
    text = call("list")
    assert all(name in text for name in list_recipes())


def test_show_prints_a_recipe_that_can_be_kept(tmp_path) -> None:
    (tmp_path / "mine.yaml").write_text(call("show", "recurring:visits=3"))
    assert load_recipe(tmp_path / "mine.yaml") == load_recipe("recurring:visits=3")


def test_show_with_data_prints_segments() -> None:
    text = call("show", "gradual:limit=50", "--data", "fashion")
    assert "gaussian_noise" in text
    assert "135 segments (115 more than these), of cifar10-c" in text


def test_preview_draws(tmp_path) -> None:
    out = tmp_path / "stream.png"
    call("preview", "mixed_domains:limit=20,corruptions=contrast;brightness", "--data", "fashion", "--out", str(out))
    with Image.open(out) as picture:
        assert picture.width > 1000


def test_export_writes_the_truth(tmp_path) -> None:
    recipe = "continual:limit=20,corruptions=contrast;fog"
    for name in ("rows.csv", "rows.parquet"):
        assert "40 rows" in call("export", recipe, "--data", "fashion", "--out", str(tmp_path / name))
    rows = pd.read_parquet(tmp_path / "rows.parquet")
    assert rows["corruption"].tolist() == ["contrast"] * 20 + ["fog"] * 20
    assert rows["position"].tolist() == pd.read_csv(tmp_path / "rows.csv")["position"].tolist() == list(range(40))
    call("export", recipe, "--data", "fashion", "--segments", "--out", str(tmp_path / "segments.csv"))
    assert pd.read_csv(tmp_path / "segments.csv")["start"].tolist() == [0, 20]


def test_mistakes_are_one_line(tmp_path) -> None:
    result = CliRunner().invoke(app, ["stream", "show", "gradul"])
    assert result.exit_code == 2
    assert "did you mean gradual" in result.output
