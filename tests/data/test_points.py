"""Points: tables, arrays and images as one array of labelled points, and what is wrong with them said at once."""

from __future__ import annotations

import datetime
import zipfile

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from scuff.data import Points, array_source, open_points, open_source
from scuff.data.cifar import CLASS_NAMES

TABLE = pd.DataFrame({"a": [0.0, 0.25, 1.0], "b": [0.5, 0.0, 0.125], "class": ["safe", "unsafe", "safe"]})
X = np.array([[0.0, 0.5], [0.25, 0.0], [1.0, 0.125]])
RNG = np.random.default_rng(0)


def bytes_of(*shape: int) -> np.ndarray:
    return RNG.integers(0, 256, shape, dtype=np.uint8)


# --- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["{}", "csv:{}"])
def test_a_table_from_a_file(tmp_path, address):
    path = tmp_path / "plant.csv"
    TABLE.to_csv(path, index=False)
    points = open_points(address.format(path))
    assert (points.name, points.features, points.class_names) == ("plant", ("a", "b"), ("safe", "unsafe"))
    np.testing.assert_array_equal(points.x, X)
    assert points.x.dtype == np.float64
    np.testing.assert_array_equal(points.labels, [0, 1, 0])
    assert points.labels.dtype == np.int64
    assert points.is_test is None
    assert len(points) == 3
    assert open_points(**points.origin).fingerprint() == points.fingerprint()


def test_a_frame_is_the_same_as_its_file(tmp_path):
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    assert open_points(TABLE).fingerprint() == open_points(tmp_path / "table.csv").fingerprint()


@pytest.mark.parametrize(
    ("table", "label", "features"),
    [
        (TABLE.rename(columns={"class": "Label"}), None, ("a", "b")),
        (TABLE.rename(columns={"class": "y"})[["y", "b", "a"]], None, ("b", "a")),
        (TABLE.rename(columns={"class": "verdict"}), None, ("a", "b")),  # the last column
        (TABLE.rename(columns={"class": "verdict"})[["verdict", "a", "b"]], "verdict", ("a", "b")),
        (TABLE.assign(target=[0, 1, 1]).drop(columns="class"), None, ("a", "b")),
    ],
)
def test_the_column_of_classes_is_found_or_named(table, label, features):
    points = open_points(table, label=label)
    assert points.features == features
    assert points.label_column == ({*table.columns} - {*features}).pop()
    assert len(points.class_names) == 2


@pytest.mark.parametrize(
    ("classes", "labels", "names"),
    [
        ([10, 2, 10], [1, 0, 1], ("2", "10")),  # numbers in the order of numbers, not of words
        ([-1.0, 1.0, -1.0], [0, 1, 0], ("-1", "1")),
        ([True, False, True], [1, 0, 1], ("False", "True")),
        (["NA", "None", "NA"], [0, 1, 0], ("NA", "None")),  # words that pandas would take for nothing
        (pd.Series([7, 5, 7], dtype="Int64"), [1, 0, 1], ("5", "7")),
        (pd.Categorical(["b", "a", "b"]), [1, 0, 1], ("a", "b")),
        ([" cat", "dog", "cat "], [0, 1, 0], ("cat", "dog")),
    ],
)
def test_classes_may_be_words_or_numbers(tmp_path, classes, labels, names):
    table = TABLE.assign(**{"class": classes})
    table.to_csv(tmp_path / "table.csv", index=False)
    for data in (table, str(tmp_path / "table.csv")):
        points = open_points(data)
        assert points.labels.tolist() == labels
        assert points.class_names == names


def test_features_may_be_truths_and_text_that_is_a_number():
    points = open_points(pd.DataFrame({"a": [True, False], "b": ["0.5", "1"], "c": [0, 1], "class": [0, 1]}))
    assert points.x.tolist() == [[1.0, 0.5, 0.0], [0.0, 1.0, 1.0]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "cannot read .*table.csv as a table"),
        ("a,b,class\n", "table has no rows"),
        ("a,class\n0,x\n,y\n", r"row 1 \(counted from 0\), column a, is empty or not a number; repair"),
        ("a,class\n0,x\ninf,y\n", r"row 1 \(counted from 0\), column a, is inf"),
        ("a,class\n0,x\n1,\n", r"column 'class': row 1 \(counted from 0\) has no class"),
        ("a,class\n0,x\n1, \n", r"column 'class': row 1 \(counted from 0\) has no class"),
        ("a,class\n0,x\n1,x\n", "expected at least two classes, but all points are of class 'x'"),
        ("a,class\n0,0.5\n1,0.25\n", r"column 'class': classes are words or whole numbers, got 0.5 in row 0"),
        ("a,b,class\n0,red,x\n1,0.5,y\n", r"row 0 \(counted from 0\) has 'red' in column 'b'"),
        ("a,b,class\n0,NaN,x\n1,0.5,y\n", "has 'NaN' in column 'b'"),
        ("a;b;class\n0;1;x\n", r"expected commas between columns, got the single column 'a;b;class'"),
        ("a;b;class\n0,1;0,2;x\n0,3;0,4;y\n", r"expected commas between columns, got the single column 'a;b;class'"),
        ("a\tclass\n0,1\tx\n", r"expected commas between columns, got the single column 'a\\tclass'"),
        ("class\nx\ny\n", "expected columns of features beside the classes in 'class', found none"),
        ("0.1,0.2,1\n0.3,0.4,0\n", r"names of the columns in the first line, got 0\.1, 0\.2, 1"),
        ("0.1,0.1,0\n0.2,0.3,0\n0.4,0.5,1\n", r"names of the columns in the first line, got 0\.1, 0\.1, 0"),
        ("5.1,3.5,1.4,setosa\n6,3,4,virginica\n", r"first line, got 5\.1, 3\.5, 1\.4, setosa; add a line with names"),
        (
            "0.1,red,y\n0.2,blue,n\n",
            r"first line, got 0\.1, red, y",
        ),  # half of the features, and a word for the classes
        ("0,1,cat\n1,0,dog\n", r"first line, got 0, 1, cat"),  # counted, but with no name for the classes
        ("0.5\n0.25\n", r"names of the columns in the first line, got 0\.5;"),
        (",a,class\n0,0.5,x\n1,0.25,y\n", "column 0 has no name; if it holds row numbers"),
        ("a,class\n0.5,x,\n0.25,y,\n", "rows have more cells than the first line has names"),
        ("a,class\n0.5,x\n0.25,y,z\n", "Expected 2 fields in line 3, saw 3"),
        ("a,label,target\n0,1,0\n1,0,0\n", r"which of label, target holds the classes\? Name it"),
    ],
)
def test_impossible_files_are_refused(tmp_path, content, words):
    (tmp_path / "table.csv").write_text(content)
    with pytest.raises(ValueError, match=words) as caught:
        open_points(tmp_path / "table.csv")
    assert len(str(caught.value).strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("first_line", "label"),
    [("0,1,label", None), ("0,1,2", "2"), ("width,height,1", None), ("1990,width,depth,class", None)],
)
def test_columns_may_be_called_by_numbers(tmp_path, first_line, label):
    names = first_line.split(",")
    rows = [["0.5"] * (len(names) - 1) + ["7"], ["0.25"] * (len(names) - 1) + ["8"]]
    (tmp_path / "table.csv").write_text("\n".join([first_line, *map(",".join, rows)]))
    points = open_points(tmp_path / "table.csv", label=label)
    assert (points.features, points.label_column, len(points)) == (tuple(names[:-1]), names[-1], 2)


def test_text_that_is_not_utf_8_is_refused(tmp_path):
    (tmp_path / "table.csv").write_bytes("a,class\n0,grün\n1,rot\n".encode("latin1"))
    with pytest.raises(ValueError, match=r"cannot read .*table\.csv as a table: 'utf-8' codec"):
        open_points(tmp_path / "table.csv")


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    TABLE.to_csv(tmp_path / "table.csv", index=False, encoding="utf-8-sig")
    assert open_points(tmp_path / "table.csv").features == ("a", "b")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (TABLE.assign(c=[1j, 0, 0])[["c", "a", "class"]], "real numbers, got complex ones in column 'c'"),
        (TABLE.assign(a=[datetime.date(2026, 1, day) for day in (1, 2, 3)]), "'2026-01-01' in column 'a'"),
        (TABLE.assign(a=pd.to_datetime(["2026-01-01"] * 3)), "in column 'a'; leave the column out"),
        (TABLE.set_axis(["a", "a", "class"], axis=1), "a name of its own, got a more than once"),
        (pd.DataFrame(), "table has no columns"),
    ],
)
def test_impossible_frames_are_refused(table, words):
    with pytest.raises(ValueError, match=words):
        open_points(table)


def test_a_wrong_label_column_gets_a_hint():
    with pytest.raises(ValueError, match=r"no column 'clas'; did you mean 'class'\? It has a, b, class"):
        open_points(TABLE, label="clas")


# --- scales -----------------------------------------------------------------------------------------------------------


def test_numbers_outside_of_0_to_1_need_a_scale():
    table = TABLE.assign(a=[18, 90, 40])
    with pytest.raises(
        ValueError,
        match=r"in \[0, 1\], got 0 to 90, outside in column a; --scale minmax \(in Python scale='minmax'\) brings",
    ):
        open_points(table)
    scaled = open_points(table, scale="minmax")
    np.testing.assert_allclose(scaled.x, [[0, 1], [1, 0], [22 / 72, 0.25]], atol=1e-15)
    assert open_points(table, scale="none").x[:, 0].tolist() == [18, 90, 40]
    assert scaled.fingerprint() != open_points(table, scale="none").fingerprint()


def test_constant_features_cannot_be_scaled():
    table = TABLE.assign(c=3.0, d=[2, 2, 2])[["a", "c", "d", "class"]]
    with pytest.raises(ValueError, match=r"constant features .* take out column c, column d"):
        open_points(table, scale="minmax")
    with pytest.raises(ValueError, match=r"take out feature 1$"):
        open_points((np.array([[0.0, 0.5], [1.0, 0.5]]), [0, 1]), scale="minmax")


def test_the_widest_ranges_can_be_scaled():
    x = np.array([[-1.7e308, 0.0, 1e308], [1.7e308, 5e-324, 1.5e308], [0.0, 1e-323, 1.25e308]])
    scaled = open_points((x, [0, 1, 1]), scale="minmax").x
    np.testing.assert_allclose(scaled, [[0, 0, 0], [1, 0.5, 1], [0.5, 1, 0.5]], rtol=1e-15)  # a few roundings


def test_an_unknown_scale_is_refused():
    with pytest.raises(ValueError, match="scale must be minmax or none, or left out; got 'standard'"):
        open_points(TABLE, scale="standard")


# --- arrays -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", [("x", "y"), ("X", "labels"), ("features", "y"), ("data", "labels"), ("images", "y")])
def test_arrays_from_a_file(tmp_path, keys):
    np.savez(tmp_path / "b.npz", **dict(zip(keys, (X.astype(np.float32), np.array([0, 1, 1])), strict=True)))
    for address in (tmp_path / "b.npz", f"npz:{tmp_path / 'b.npz'}"):
        points = open_points(address)
        np.testing.assert_array_equal(points.x, X)  # these numbers are whole multiples of 1/8
        assert (points.name, points.x.dtype, points.class_names) == ("b", np.float64, ("0", "1"))


def test_arrays_in_two_splits(tmp_path):
    parts = {"x_train": X, "y_train": [[1], [0], [1]], "x_test": X[:2] / 2, "y_test": [[0], [2]]}
    np.savez(tmp_path / "b.npz", **parts)
    points = open_points(tmp_path / "b.npz")
    assert points.labels.tolist() == [1, 0, 1, 0, 2]
    assert points.is_test.tolist() == [False] * 3 + [True] * 2
    np.testing.assert_array_equal(points.x, np.concatenate([X, X[:2] / 2]))
    np.savez(tmp_path / "b.npz", **(parts | {"y_train": [0, 1, 1, 0], "y_test": [1]}))  # as many in all
    with pytest.raises(ValueError, match=r"b \(train\): 3 points need one label each, got labels of shape \(4,\)"):
        open_points(tmp_path / "b.npz")
    np.savez(tmp_path / "b.npz", **(parts | {"x_test": X[:2, :1]}))
    with pytest.raises(ValueError, match=r"training points \(3, 2\) and test points \(2, 1\) are not of one shape"):
        open_points(tmp_path / "b.npz")


@pytest.mark.parametrize(
    ("labels", "expected", "names"),
    [
        (np.array([2, 0, 2], np.uint8), [2, 0, 2], ("0", "1", "2")),  # as a model numbers its outputs
        ([-1, 1, 1], [0, 1, 1], ("-1", "1")),
        ([2**40, 5, 5], [1, 0, 0], ("5", "1099511627776")),
        ([0.0, 3.0, 3.0], [0, 1, 1], ("0", "3")),
        (["cat", "dog", "cat"], [0, 1, 0], ("cat", "dog")),
        (["cat ", "dog", " cat"], [0, 1, 0], ("cat", "dog")),
        (np.array(["dog", "cat", " dog"], object), [1, 0, 1], ("cat", "dog")),
        (pd.Series(["dog", "cat", "dog"]), [1, 0, 1], ("cat", "dog")),
        (np.array([2, 0, 2], object), [2, 0, 2], ("0", "1", "2")),
        ([True, False, True], [1, 0, 1], ("False", "True")),
    ],
)
def test_labels_of_arrays(labels, expected, names):
    points = open_points((X, labels))
    assert points.labels.tolist() == expected
    assert points.class_names == names


def test_bytes_are_pixels():
    images = bytes_of(4, 5, 6, 3)
    points = open_points((images, [0, 1, 0, 1]))
    assert points.x.dtype == np.uint8
    np.testing.assert_array_equal(points.x, images)
    vectors = points.vectors()
    assert (vectors.shape, vectors.dtype) == ((4, 90), np.float32)
    np.testing.assert_array_equal(vectors[1], images[1].ravel().astype(np.float32) / np.float32(255))
    with pytest.raises(ValueError, match=r"images of bytes, from 0 to 255, .* leave out 'minmax'"):
        open_points((images, [0, 1, 0, 1]), scale="minmax")
    numbers = bytes_of(4, 3)
    assert open_points((numbers, [0, 1, 0, 1]), scale="none").x.dtype == np.float64  # a table of small whole numbers
    assert open_points((numbers, [0, 1, 0, 1])).x.dtype == np.uint8


def test_vectors_keep_double_precision():
    points = open_points((X.reshape(3, 2, 1), [0, 1, 1]))
    assert points.x.shape == (3, 2, 1)
    assert points.vectors().dtype == np.float64
    np.testing.assert_array_equal(points.vectors(), X)


@pytest.mark.parametrize(
    ("x", "labels", "words"),
    [
        (X, [0, 1], r"3 points need one label each, got labels of shape \(2,\)"),
        (X, np.eye(3), "use numpy.argmax if one-hot"),
        (X, [0, 0, 0], "expected at least two classes, but all points are of class '0'"),
        (X, [0.5, 1.0, 1.0], "classes are words or whole numbers, got 0.5 in row 0"),
        (X, [np.nan, 1.0, 1.0], "got nan in row 0"),
        (X, [1j, 0, 0], "got labels of type complex128"),
        (X, np.array(["a", None, "b"], object), r"points: row 1 \(counted from 0\) has no class"),
        (X, np.array(["a", "b", np.nan], object), r"row 2 \(counted from 0\) has no class"),
        (X, ["a", " ", "b"], r"row 1 \(counted from 0\) has no class"),
        (X, np.array([datetime.date(2026, 1, 1)] * 3, object), "got labels of type object"),
        (X[:, 0], [0, 1, 1], r"expected points \(n, features\).*, got \(3,\)"),
        (X[:, :0], [0, 1, 1], r"got \(3, 0\)"),
        (X[:0], [], "points has no points"),
        (X + 1j, [0, 1, 1], "points must be real numbers, got complex128"),
        (X.astype(object), [0, 1, 1], "got object"),
        ([["a", "b"]] * 3, [0, 1, 1], "got <U1"),
        (np.where(X == 0.25, np.nan, X), [0, 1, 1], r"row 1 \(counted from 0\), feature 0, is empty or not a number"),
        (np.where(X == 0.125, -np.inf, X).reshape(3, 1, 2), [0, 1, 1], r"row 2 .*, feature \(0, 1\), is -inf"),
        (X * 255, [0, 1, 1], "got 0 to 255, outside in feature 0, feature 1; .* divide pixels by 255"),
    ],
)
def test_impossible_arrays_are_refused(x, labels, words):
    with pytest.raises(ValueError, match=words):
        open_points((x, labels))


def test_impossible_array_files_are_refused(tmp_path):
    path = tmp_path / "b.npz"
    np.savez(path, z=X, y=[0, 1, 1])
    with pytest.raises(ValueError, match=r"expected points under x or X or .* found the keys z, y"):
        open_points(path)
    np.savez(path, x=X, y=np.array(["a", None, "b"], object))
    with pytest.raises(ValueError, match=r"cannot read .*b\.npz as arrays: Object arrays cannot be loaded"):
        open_points(path)
    np.savez(path, x=bytes_of(100, 100), y=np.arange(100))
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(ValueError, match=r"cannot read .*b\.npz as arrays"):
        open_points(path)
    with open(path, "wb") as file:
        np.save(file, X)
    with pytest.raises(ValueError, match="it holds one array without a name"):
        open_points(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("x.npy", b"not an array")
    with pytest.raises(ValueError, match=r"b\.npz"):
        open_points(path)


# --- images -----------------------------------------------------------------------------------------------------------


def test_both_splits_of_a_source_are_taken():
    points = open_points("fashion")
    assert points.x.shape == (15_000, 28, 28)
    assert points.is_test.tolist() == [False] * 10_000 + [True] * 5000
    test = open_source("fashion")
    np.testing.assert_array_equal(points.x[10_000:], test.images.array)
    np.testing.assert_array_equal(points.labels[10_000:], test.labels)
    assert points.class_names == test.class_names


def test_cifar10_keeps_its_numbers_and_names(tmp_path):
    train, test = bytes_of(6, 32, 32, 3), bytes_of(2, 32, 32, 3)
    np.savez(tmp_path / "c.npz", x_train=train, y_train=[3, 3, 5, 5, 9, 9], x_test=test, y_test=[3, 0])
    points = open_points(f"cifar10:{tmp_path}")
    np.testing.assert_array_equal(points.x, np.concatenate([train, test]))
    assert points.labels.tolist() == [3, 3, 5, 5, 9, 9, 3, 0]
    assert (points.class_names, int(points.is_test.sum())) == (CLASS_NAMES, 2)


def test_a_source_is_taken_as_it_is():
    images = bytes_of(4, 8, 8, 3)
    points = open_points(array_source("mine", images, np.array([0, 1, 0, 1]), ["cat", "dog"]))
    assert points.x is images
    assert (points.name, points.class_names, points.is_test) == ("mine", ("cat", "dog"), None)


def test_pictures_are_brought_to_one_size(tmp_path):
    for name, (width, height) in {"cat/a": (8, 8), "cat/b": (12, 8), "dog/c": (8, 10)}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.fromarray(bytes_of(height, width, 3)).save(tmp_path / f"{name}.png")
    with pytest.raises(ValueError, match=r"pictures must have one size, .* bring them to one with --resize and --crop"):
        open_points(f"folder:{tmp_path}")
    points = open_points(f"folder:{tmp_path}", crop=8)
    assert (points.x.shape, points.x.dtype) == ((3, 8, 8, 3), np.uint8)
    assert points.labels.tolist() == [0, 0, 1]
    np.testing.assert_array_equal(points.x[0], np.asarray(Image.open(tmp_path / "cat" / "a.png")))
    assert open_points(f"folder:{tmp_path}", resize=6, crop=4).x.shape == (3, 4, 4, 3)


def test_splits_of_saved_datasets(tmp_path):
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"picture": datasets.Image(), "kind": datasets.ClassLabel(names=["cat", "dog"])})
    pictures = [Image.fromarray(bytes_of(4, 4, 3)) for _ in range(4)]
    train = datasets.Dataset.from_dict({"picture": pictures[:2], "kind": [0, 1]}, features)
    test = datasets.Dataset.from_dict({"picture": pictures[2:], "kind": [1, 0]}, features)
    datasets.DatasetDict({"train": train, "test": test}).save_to_disk(str(tmp_path / "both"))
    points = open_points(f"hf:{tmp_path / 'both'}")
    assert points.labels.tolist() == [0, 1, 1, 0]
    assert points.is_test.tolist() == [False, False, True, True]
    one = open_points(f"hf:{tmp_path / 'both' / 'train'}")  # whose splits would be twice the same
    assert (len(one), one.is_test) == (2, None)


# --- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        ("gone.csv", {}, "there is no file gone.csv"),
        ("npz:gone", {}, "there is no file gone"),
        ("cifar-10:data", {}, "did you mean cifar10:DIR"),
        ("whatever", {}, "no source is addressed by 'whatever'"),
        (3.5, {}, "expected FILE.csv, FILE.npz, the address of a source, .* got a float"),
        ((X,), {}, r"expected a pair \(x, labels\), got 1 things"),
        ((X, [0, 1, 1]), {"label": "class"}, "label names a column of a table, but tuple is none; leave out 'class'"),
        ("fashion", {"label": "class"}, "but fashion is none"),
        ("fashion", {"scale": "minmax"}, "fashion holds images of bytes"),
        ("fashion", {"crop": 8}, "resize and crop are for pictures; fashion is an array"),
        (TABLE, {"resize": 8}, "resize and crop are for pictures, which DataFrame does not hold"),
        ("fashion", {"resize": 0}, "resize must be a whole number of pixels, at least 1, got 0"),
    ],
)
def test_impossible_addresses_and_options_are_refused(data, options, words):
    with pytest.raises(ValueError, match=words):
        open_points(data, **options)


def test_other_files_and_corrupted_images_are_refused(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=r"expected a table FILE.csv or arrays FILE.npz, got the file .*a\.parquet"):
        open_points(tmp_path / "a.parquet")
    np.save(tmp_path / "fog.npy", bytes_of(10, 32, 32, 3))
    np.save(tmp_path / "labels.npy", np.tile([0, 1], 5))
    with pytest.raises(ValueError, match="holds images that are corrupted already; give the clean ones"):
        open_points(f"cifar10-c:{tmp_path}")


def test_a_fingerprint_tells_everything_apart():
    base = {"x": X, "labels": np.array([0, 1, 1]), "class_names": ("a", "b"), "features": ("s", "t")}
    changes = [
        {},
        {"x": X + 1e-16 * (X == 0)},
        {"x": X.reshape(3, 1, 2)},
        {"labels": np.array([0, 1, 0])},
        {"class_names": ("a", "c")},
        {"features": ("s", "u")},
        {"is_test": np.array([False, False, True])},
        {"is_test": np.array([False, True, True])},
    ]
    prints = [Points("name", **(base | change)).fingerprint() for change in changes]
    assert len(set(prints)) == len(prints)
    assert Points("other", **base).fingerprint() == prints[0]
