"""Datasets in the format of Hugging Face."""

import datasets
import numpy as np
import pytest
from made_sources import pixels_of, random_images
from PIL import Image

from scuff.data import open_source


@pytest.fixture
def saved(tmp_path):
    """A dataset on disk, with two splits."""
    pictures = [Image.fromarray(random_images(6, 8, 3, seed=k)) for k in range(5)]
    features = datasets.Features(
        {
            "picture": datasets.Image(),
            "note": datasets.Value("string"),
            "kind": datasets.ClassLabel(names=["ant", "bee"]),
        }
    )
    rows = {"picture": pictures, "note": list("abcde"), "kind": [0, 1, 1, 0, 1]}
    whole = datasets.Dataset.from_dict(rows, features)
    splits = datasets.DatasetDict({"test": whole, "validation": whole.select([3, 1])})
    datasets.disable_progress_bars()
    splits.save_to_disk(str(tmp_path / "saved"))
    return tmp_path / "saved"


def test_hugging_face_columns_are_found_by_type(saved):
    source = open_source(f"hf:{saved}")
    assert (source.labels.tolist(), source.class_names) == ([0, 1, 1, 0, 1], ("ant", "bee"))
    np.testing.assert_array_equal(pixels_of(source), [random_images(6, 8, 3, seed=k) for k in range(5)])
    assert source.ids.tolist() == [0, 1, 2, 3, 4]
    some = source.take([4, 1])
    np.testing.assert_array_equal(pixels_of(some)[0], random_images(6, 8, 3, seed=4))
    assert (some.labels.tolist(), some.ids.tolist()) == ([1, 1], [4, 1])
    assert some.fingerprint() != source.fingerprint()


def test_hugging_face_splits(saved):
    assert open_source(f"hf:{saved}", "validation").labels.tolist() == [0, 1]
    assert open_source(f"hf:{saved / 'validation'}").labels.tolist() == [0, 1]  # one of them, itself a saved dataset
    with pytest.raises(ValueError, match="no split 'train'; it has test, validation"):
        open_source(f"hf:{saved}", "train")


def test_hugging_face_without_classes_is_refused(saved, tmp_path):
    whole = datasets.load_from_disk(str(saved / "test"))
    whole.remove_columns("kind").save_to_disk(str(tmp_path / "other"))
    with pytest.raises(ValueError, match=r"one column of classes .*found 0 among picture \(Image\), note \(Value\)"):
        open_source(f"hf:{tmp_path / 'other'}")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"cannot read .*empty as a saved dataset"):
        open_source(f"hf:{tmp_path / 'empty'}")
