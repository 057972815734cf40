"""Each of the usual faults, planted in a small dataset, is named."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from made_locks import make_pictures, write_pictures
from PIL import Image

import scuff
from scuff.engine import LocalEngine
from scuff.export import export as export_by_all
from scuff.locks import make_lock, read_lock, verify
from scuff.locks.lock import Lock
from scuff.pictures import Cut, crop_centre, resize_shorter_side
from scuff.random import image_id

ENTRIES, LEVELS = ["gaussian_noise", "brightness"], [1, 2]
export = partial(export_by_all, engine=LocalEngine(1))
Change = Callable[[np.ndarray], np.ndarray]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """Twelve images as an array and nine pictures as files, a lock of each, and what scuff corrupt makes of them."""
    folder = tmp_path_factory.mktemp("faults")
    np.savez(folder / "test.npz", images=make_pictures(12, 32, 32), labels=np.arange(12) % 5)
    write_pictures(folder / "val", make_pictures(9, 40, 56))
    make_lock("cifar10-c", f"npz:{folder}/test.npz", only=ENTRIES, severities=LEVELS).save(folder / "array.yaml")
    make_lock("cifar10-c", f"folder:{folder}/val", only=ENTRIES, severities=LEVELS, resize=36, crop=32).save(
        folder / "folder.yaml"
    )
    export(folder / "test.npz", folder / "array", lock=folder / "array.yaml")
    export(folder / "val", folder / "folder", lock=folder / "folder.yaml")
    return folder


@pytest.fixture
def written(place, tmp_path) -> Path:
    shutil.copytree(place / "array", tmp_path / "array")
    shutil.copytree(place / "folder", tmp_path / "folder")
    return tmp_path


def change_arrays(folder: Path, change: Change) -> None:
    """Change the images of every severity."""
    for entry in ENTRIES:
        blocks = np.split(np.load(folder / f"{entry}.npy"), len(LEVELS))
        np.save(folder / f"{entry}.npy", np.concatenate([change(block) for block in blocks]))


def write_cells(
    folder: Path, pictures: Path, cut: Callable[[Image.Image], Image.Image], clean: Change | None = None
) -> None:
    """Files of all cells, made of pictures by another way of cutting them."""
    for entry in ENTRIES:
        for level in LEVELS:
            for path in sorted(pictures.rglob("*.png")):
                name = path.relative_to(pictures).as_posix()
                image = np.asarray(cut(Image.open(path).convert("RGB")))
                image = image if clean is None else clean(image[None])[0]
                made = scuff.corrupt(image[None], f"cifar10-c/{entry}", level, ids=[image_id(name)])[0]
                Image.fromarray(made).save(folder / entry / str(level) / name)


def through_jpeg(images: np.ndarray, quality: int) -> np.ndarray:
    out = []
    for image in images:
        file = io.BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=quality)
        out.append(np.asarray(Image.open(file)))
    return np.stack(out)


def cut_off(images: np.ndarray) -> np.ndarray:
    """As who stores floats and forgets to round: some values fall below their level."""
    return (images.astype(np.float32) / np.float32(255) * np.float32(254.9999)).astype(np.uint8)


def swap(images: np.ndarray) -> np.ndarray:
    return images[[1, 0, *range(2, len(images))]]


def copy_one(images: np.ndarray) -> np.ndarray:
    images = images.copy()
    images[7] = images[3]
    return images


ARRAY_FAULTS: dict[str, tuple[Change, str]] = {
    "bgr": (lambda x: x[..., ::-1], "Channels are in the order BGR instead of RGB"),
    "reversed": (lambda x: x[::-1], "Images are in another order"),
    "two swapped": (swap, "Images are in another order"),
    "missing": (lambda x: np.delete(x, 4, axis=0), "1 of 12 images are missing"),
    "more": (
        lambda x: np.concatenate([x, x[:2]]),
        "2 images more than the 12 of the lock, and 2 of them are dup",
    ),
    "twice": (copy_one, "and image 7 are duplicates: one of them is in the place of another"),
    "jpeg": (lambda x: through_jpeg(x, 85), "an additional JPEG, of quality 85, after they were corrupted"),
    "jpeg 60": (lambda x: through_jpeg(x, 60), "an additional JPEG, of quality 60, after they were corrupted"),
    "rounding": (cut_off, "the rounding of floats"),
    "size": (lambda x: x[:, 1:], "another size: 31x32x3 instead of 32x32x3"),
    "broken": (lambda x: np.where(np.arange(32)[:, None] < 16, x, 0).astype(np.uint8), "None of the usual faults"),
}


@pytest.mark.parametrize("fault", ARRAY_FAULTS)
def test_faults_of_arrays_are_named(place, written, fault) -> None:
    change, words = ARRAY_FAULTS[fault]
    change_arrays(written / "array", change)
    verdict = verify(place / "array.yaml", written / "array", data=f"npz:{place}/test.npz")
    assert len(verdict.different) == 4
    assert [f.cell for f in verdict.faults] == list(verdict.different)
    assert words in str(verdict), verdict
    assert len({f.words for f in verdict.faults} - {verdict.faults[0].words}) <= (fault == "rounding") * 3, verdict


@pytest.mark.parametrize("fault", ["bgr", "reversed", "two swapped", "missing", "more", "twice", "size"])
def test_many_show_without_the_clean_images(place, written, fault) -> None:
    change, words = ARRAY_FAULTS[fault]
    change_arrays(written / "array", change)
    assert words in str(verify(place / "array.yaml", written / "array"))


def test_what_needs_the_clean_images_asks_for_them(place, written) -> None:
    change_arrays(written / "array", ARRAY_FAULTS["jpeg"][0])
    assert "None of the usual faults explains it; add --data" in str(verify(place / "array.yaml", written / "array"))


def test_another_severity_is_named_with_and_without_clean_images(place, written) -> None:
    mild, strong = np.split(np.load(written / "array" / "brightness.npy"), 2)
    np.save(written / "array" / "brightness.npy", np.concatenate([strong, mild]))
    verdict = verify(place / "array.yaml", written / "array")
    assert verdict.different == (("brightness", 1), ("brightness", 2))
    assert "another severity: 2 instead of 1" in str(verdict)
    assert "another severity: 1 instead of 2" in str(verdict)
    x = np.load(place / "test.npz")["images"]
    fifth = scuff.corrupt(x, "cifar10-c/brightness", 5)  # which the lock does not hold
    np.save(written / "array" / "brightness.npy", np.concatenate([mild, fifth]))
    verdict = verify(place / "array.yaml", written / "array", data=f"npz:{place}/test.npz")
    assert "another severity: 5 instead of 2" in str(verdict)
    shutil.copy(written / "array" / "gaussian_noise.npy", written / "array" / "brightness.npy")
    assert "another corruption: gaussian_noise 1" in str(verify(place / "array.yaml", written / "array"))


@pytest.mark.parametrize(
    ("shift", "words"),
    [
        (lambda y: y + 1, "labels are counted from 1 instead of 0"),
        (lambda y: np.roll(y, -1), "labels are shifted by 1: each image has that of the one 1 after it"),
        (lambda y: np.roll(y, 1), "labels are shifted by 1: each image has that of the one 1 before it"),
        (lambda y: y * 0, "labels differ from those of the lock"),
    ],
)
def test_shifted_labels_are_named(place, written, tmp_path, shift, words) -> None:
    labels = np.load(place / "test.npz")["labels"]
    np.save(written / "array" / "labels.npy", np.concatenate([shift(labels)] * 2))
    verdict = verify(place / "array.yaml", written / "array")
    assert not verdict.different
    assert not verdict.is_equal
    assert words in str(verdict).lower().replace("bgr", "BGR")
    np.savez(tmp_path / "other.npz", images=np.load(place / "test.npz")["images"], labels=shift(labels))
    assert words in str(verify(place / "array.yaml", data=f"npz:{tmp_path}/other.npz")).lower()


@pytest.mark.parametrize("change", [lambda y: y[:-1], lambda y: np.eye(5)[y], lambda y: y + 0.5])
def test_labels_that_are_none_are_named(place, written, change) -> None:
    np.save(written / "array" / "labels.npy", change(np.load(place / "test.npz")["labels"]))
    assert "not 12 whole numbers" in str(verify(place / "array.yaml", written / "array"))


def test_labels_may_be_a_column(place, tmp_path) -> None:
    arrays = np.load(place / "test.npz")
    np.savez(tmp_path / "column.npz", images=arrays["images"], labels=arrays["labels"][:, None])
    export(tmp_path / "column.npz", tmp_path / "out", lock=place / "array.yaml", layout="npz")  # which verifies it


def test_arrays_of_the_severities_of_the_lock_need_no_settings(place, written) -> None:
    (written / "array" / "scuff.json").unlink()
    assert verify(place / "array.yaml", written / "array").is_equal


CUT = Cut(36, 32)
PICTURE_FAULTS: dict[str, tuple[Callable[[Image.Image], Image.Image], Change | None, str]] = {
    "bicubic": (replace(CUT, filter="bicubic"), None, "resized with another filter: bicubic instead of bilinear"),
    "lanczos": (replace(CUT, filter="lanczos"), None, "resized with another filter: lanczos instead of bilinear"),
    "crop first": (lambda p: resize_shorter_side(crop_centre(p, 40), 32), None, "cropped before they were resized"),
    "crop 36 first": (lambda p: resize_shorter_side(crop_centre(p, 36), 32), None, "cropped before they were resized"),
    "squeezed": (replace(CUT, keeps_ratio=False), None, "squeezed to a square"),
    "bgr inside": (CUT, lambda x: x[..., ::-1].copy(), "in the order BGR instead of RGB"),
    "jpeg before": (CUT, lambda x: through_jpeg(x, 95), "JPEG, of quality 95, before they were corrupted"),
}


@pytest.mark.parametrize("fault", PICTURE_FAULTS)
def test_faults_of_pictures_are_named(place, written, fault) -> None:
    cut, clean, words = PICTURE_FAULTS[fault]
    write_cells(written / "folder", place / "val", cut, clean)
    verdict = verify(place / "folder.yaml", written / "folder", data=f"folder:{place}/val")
    assert len(verdict.different) == 4
    assert {words in fault.words for fault in verdict.faults} == {True}, verdict


@pytest.mark.parametrize("with_data", [False, True])
def test_an_empty_folder_of_a_cell_is_a_finding(place, written, with_data) -> None:
    for cell in ("brightness/1", "brightness/2"):
        shutil.rmtree(written / "folder" / cell)
        (written / "folder" / cell).mkdir()
    data = f"folder:{place}/val" if with_data else None
    verdict = verify(place / "folder.yaml", written / "folder", data=data)
    assert verdict.different == (("brightness", 1), ("brightness", 2))
    assert "9 of 9 images are missing" in str(verdict)


def test_another_seed_is_named(place, tmp_path) -> None:
    export(place / "val", tmp_path / "out", "cifar10-c", only=ENTRIES, severities=LEVELS, resize=36, crop=32, seed=1)
    verdict = verify(place / "folder.yaml", tmp_path / "out", data=f"folder:{place}/val")
    assert "made with the seed 1 instead of 0" in str(verdict)
    assert {entry for entry, _ in verdict.different} == {"gaussian_noise"}  # brightness draws nothing


def test_missing_and_renamed_pictures_are_named(place, written) -> None:
    for path in (written / "folder").rglob("class-0/004.png"):
        path.unlink()
    verdict = verify(place / "folder.yaml", written / "folder", data=f"folder:{place}/val")
    assert "1 of 9 images are missing: class-0/004.png" in str(verdict)
    assert "1 of 9 images are missing" in str(verify(place / "folder.yaml", written / "folder"))
    for path in (written / "folder").rglob("class-1/005.png"):
        path.rename(path.with_name("004.png"))
    verdict = verify(place / "folder.yaml", written / "folder", data=f"folder:{place}/val")
    assert "2 of 9 images are missing, and 1 have other names" in str(verdict)


def test_pictures_under_each_others_names_are_in_another_order(place, written) -> None:
    for cell in (written / "folder").glob("*/*/class-0"):
        (cell / "000.png").rename(cell / "x.png")
        (cell / "002.png").rename(cell / "000.png")
        (cell / "x.png").rename(cell / "002.png")
    assert "Images are in another order" in str(verify(place / "folder.yaml", written / "folder"))


def test_jpeg_files_instead_of_lossless_ones(place, tmp_path) -> None:
    export(
        place / "val", tmp_path / "out", "cifar10-c", only=ENTRIES, severities=LEVELS, resize=36, crop=32, save="jpeg"
    )
    assert "Files are JPEGs" in str(verify(place / "folder.yaml", tmp_path / "out"))
    verdict = verify(place / "folder.yaml", tmp_path / "out", data=f"folder:{place}/val")
    assert "an additional JPEG, of quality 85" in str(verdict)


def test_a_cell_that_is_not_there(place, written) -> None:
    (written / "array" / "brightness.npy").unlink()
    verdict = verify(place / "array.yaml", written / "array")
    assert verdict.different == (("brightness", 1), ("brightness", 2))
    assert "Not in the folder (brightness 1, brightness 2)" in str(verdict)
    (written / "array" / "gaussian_noise.npy").unlink()
    with pytest.raises(ValueError, match="holds no cell of the lock"):
        verify(place / "array.yaml", written / "array")


def test_cells_that_are_not_there_leave_room_to_explain_others(place, written, monkeypatch) -> None:
    monkeypatch.setattr("scuff.locks.verdict.EXPLAINED", 1)
    change_arrays(written / "array", ARRAY_FAULTS["bgr"][0])
    (written / "array" / "gaussian_noise.npy").unlink()
    assert "order BGR instead of RGB (brightness 1)" in str(verify(place / "array.yaml", written / "array"))


# --- clean images ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["bgr", "reversed", "missing", "more", "twice", "size"])
def test_faults_of_clean_images_are_named(place, tmp_path, fault) -> None:
    arrays = np.load(place / "test.npz")
    changed = ARRAY_FAULTS[fault][0](arrays["images"])
    labels = np.resize(arrays["labels"], len(changed))
    if fault == "missing":
        labels = np.delete(arrays["labels"], 4)
    np.savez(tmp_path / "other.npz", images=changed, labels=labels)
    verdict = verify(place / "array.yaml", data=f"npz:{tmp_path}/other.npz")
    words = {"missing": "1 images are missing", "more": "2 images are too many"}.get(fault, ARRAY_FAULTS[fault][1])
    assert words in str(verdict)


def test_a_decoder_is_told_from_other_files(place, tmp_path, monkeypatch) -> None:
    from scuff.data import stored

    lock = read_lock(place / "folder.yaml")
    before = stored.read_picture
    monkeypatch.setattr(stored, "read_picture", lambda file: Image.fromarray(np.asarray(before(file)) ^ 1))
    verdict = verify(lock, data=f"folder:{place}/val")
    assert "The files are equal, so it is the decoder: the lock was made with Pillow" in str(verdict)


def test_other_corruptions_are_told_from_other_images(place) -> None:
    lock = read_lock(place / "array.yaml")
    cells = dict(lock.cells)
    cells["brightness", 1], cells["brightness", 2] = cells["brightness", 2], cells["brightness", 1]
    verdict = verify(replace(lock, cells=cells), data=f"npz:{place}/test.npz", sample=2)
    assert verdict.different == (("brightness", 1), ("brightness", 2))
    assert "The clean images are equal, so it is the corruptions" in str(verdict)
    assert isinstance(verdict.lock, Lock)
