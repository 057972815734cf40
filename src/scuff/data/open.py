"""Addresses of sources: `FORM:PLACE`, and the forms that there are."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

from scuff.arrays import LABELS_KEYS, open_arrays
from scuff.data.cifar import open_cifar10, open_cifar10_1
from scuff.data.coco import open_coco
from scuff.data.fashion_mnist import open_embedded, open_fashion_mnist
from scuff.data.folders import open_folder
from scuff.data.huggingface import open_dataset
from scuff.data.masks import open_cityscapes, open_masks
from scuff.data.natural import open_by_wordnet, open_imagenet_v2, open_objectnet, restrict
from scuff.data.objects import open_object, takes_split
from scuff.data.published import open_published
from scuff.data.shards import open_shards
from scuff.data.source import CorruptedSource, Source, array_source
from scuff.data.voc import open_voc, open_voc_masks
from scuff.data.yolo import open_yolo
from scuff.plugins import ADDRESS, import_object, is_importable, note_part
from scuff.suites import list_suites

SPLITS = ("train", "test")
PYTHON = "package.module:object"


@dataclass(frozen=True)
class Form:
    """What stands before the colon: a function of the place, and of the split where the data are divided into two."""

    open: Callable[..., Source | CorruptedSource]
    place: str = "DIR"
    is_path: bool = True  # on this machine; else the opener takes the place as it is written
    has_splits: bool = False
    any_split: bool = False  # of any name


_own: dict[str, Form] = {}
AnyOpener = TypeVar("AnyOpener", bound=Callable[..., Any])


def register(*, name: str | None = None, is_path: bool = True) -> Callable[[AnyOpener], AnyOpener]:
    """Register the decorated function as a form of sources, NAME:PLACE, for every command and call that takes data.

    The function gets the place, if it has a parameter for it, as a Path that exists, or as text unless `is_path`; and
    "train" or "test", if it has a parameter `split`. It returns a `Source`, or anything else that `open_source` takes:
    a torch Dataset, or a pair (images, labels). `name` is by default its own, with - for _.
    """

    def add(function: AnyOpener) -> AnyOpener:
        form, parameters = name or function.__name__.replace("_", "-"), list(inspect.signature(function).parameters)
        places = [parameter for parameter in parameters if parameter != "split"]
        if len(places) > 1:
            raise ValueError(f"the source {form} needs {', '.join(places)}; expected a place and, perhaps, a split")
        if form in forms():
            raise ValueError(f"there is a form of sources {form!r} already; give yours another name")
        opener = partial(_open_own, function, form, bool(places))
        _own[form] = Form(opener, places[0].upper() if places else "", is_path, "split" in parameters)
        note_part("source", f"{form}:{places[0].upper()}" if places else form, function.__module__)
        return function

    return add


def _open_own(function: Callable[..., Any], form: str, has_place: bool, *given: Any) -> Source | CorruptedSource:
    """Call an opener of somebody else's with the place and the split that it asks for."""
    place, split = given[:has_place], given[has_place:]
    try:
        made = function(*place, **({"split": split[0]} if split else {}))
    except Exception as error:  # whatever a user's code may raise
        raise ValueError(f"the source {form} fails: {type(error).__name__}: {error}") from error
    return open_object(made, form)


def forms() -> dict[str, Form]:
    """All forms by their names. A suite's name opens images that somebody has corrupted by it."""
    suites = {name: Form(partial(open_published, name)) for name in list_suites()}
    return {**_forms_of_the_package(), **suites, **_own}


@lru_cache
def _forms_of_the_package() -> dict[str, Form]:
    natural = {name: Form(partial(open_by_wordnet, name)) for name in ("imagenet-a", "imagenet-r", "imagenet-sketch")}
    return {
        "fashion": Form(open_embedded, "", has_splits=True),
        "fashion-mnist": Form(open_fashion_mnist, has_splits=True),
        "fashion-32": Form(partial(open_embedded, name="fashion-32", border=2), "", has_splits=True),
        "cifar10": Form(open_cifar10, has_splits=True),
        "cifar10.1": Form(open_cifar10_1),
        "folder": Form(open_folder),
        "npz": Form(_open_npz, "FILE"),
        "wds": Form(open_shards, "TARS", is_path=False),
        "hf": Form(open_dataset, "DIR|NAME", is_path=False, has_splits=True, any_split=True),
        **natural,
        "imagenet-v2": Form(open_imagenet_v2),
        "objectnet": Form(open_objectnet),
        "coco": Form(open_coco),
        "voc": Form(open_voc, has_splits=True),
        "yolo": Form(open_yolo),
        "cityscapes": Form(open_cityscapes, has_splits=True),
        "voc-masks": Form(open_voc_masks, has_splits=True),
        "masks": Form(open_masks),
    }


def open_source(data: Any, split: str = "test", classes: str | None = None) -> Source | CorruptedSource:
    """Open a labelled dataset. Addresses are opened without decoding anything, objects of Python are read at once.

    Parameters
    ----------
    data
        `fashion`, which comes with the package, or a form and a place, such as `cifar10:DIR`, `folder:DIR`,
        `imagenet-a:DIR`; docs/data.md has them all. The name of a suite, as in `imagenet-c:DIR`, opens images that are
        corrupted already. Or an object: a torch Dataset or DataLoader of (image, label), or a pair (images, labels);
        or `package.module:object`, the address of one, or of a class or function that makes one.
    split
        "test" or "train", where an address has both; for `hf` any that it has. A function gets it, if it has a
        parameter of that name.
    classes
        A benchmark of natural shifts, "imagenet-a" say: of a source with ImageNet's classes, take the images of the
        benchmark's classes, to be scored as the benchmark is.

    Examples
    --------
    >>> source = open_source("fashion")
    >>> len(source), source.class_names[source.labels[0]]
    (5000, 'Ankle boot')
    """
    source = _open_address(data, split) if isinstance(data, str) else open_object(data, split=split)
    if classes is None:
        return source
    if isinstance(source, CorruptedSource):
        raise ValueError(f"classes are chosen of clean images; {source.name} holds corrupted ones")
    return restrict(source, classes)


def has_splits(data: Any) -> bool:
    """Whether an address has both training and test images.

    >>> has_splits("fashion"), has_splits("npz:mine.npz")
    (True, False)
    """
    if not isinstance(data, str):
        return takes_split(data)
    form = forms().get(data.partition(":")[0])
    return takes_split(import_object(data)) if form is None and _is_code(data) else form is not None and form.has_splits


def _is_code(address: str) -> bool:
    """Whether it is the address of an object in a module that there is."""
    return ADDRESS.fullmatch(address) is not None and is_importable(address.partition(":")[0])


def _open_address(address: str, split: str) -> Source | CorruptedSource:
    name, colon, place = address.partition(":")
    if name not in forms():
        if _is_code(address):
            return open_object(import_object(address), address.rpartition(":")[2], split)
        raise ValueError(_unknown(address, name))
    form = forms()[name]
    if form.place and not place:
        raise ValueError(f"{name} needs a place: {name}:{form.place}")
    if colon and not form.place:
        hint = f"leave out {colon + place!r}, or did you mean fashion-mnist:DIR?"
        raise ValueError(f"{name} comes with the package; {hint}")
    if not form.has_splits and split != "test":
        raise ValueError(f"{name} has no splits, got {split!r}; give the place of the images that you want")
    if form.has_splits and not form.any_split and split not in SPLITS:
        raise ValueError(f"{name} has the splits {' and '.join(SPLITS)}, got {split!r}")
    path = Path(place).expanduser()
    if form.place and form.is_path and not path.exists():
        raise ValueError(f"there is no file or folder {place}, wanted by {address}")
    arguments = [path if form.is_path else place] if form.place else []
    return form.open(*arguments, *([split] if form.has_splits else []))


def _unknown(address: str, name: str) -> str:
    addresses = {name: f"{name}:{form.place}" if form.place else name for name, form in forms().items()}
    known = ", ".join([*addresses.values(), PYTHON])
    if Path(address).expanduser().exists():
        form = "folder" if Path(address).expanduser().is_dir() else "npz"
        return f"expected the form of a source before its place, as in {form}:{address}; the forms are {known}"
    near = [addresses[form] for form in difflib.get_close_matches(name, addresses, n=3, cutoff=0.6)]
    hint = f"did you mean {', '.join(near)}? " if near else ""
    if not hint and ADDRESS.fullmatch(address):
        hint = f"nor is there a module {name}, which --plugin FILE.py would load from another folder. "
    return f"no source is addressed by {address!r}; {hint}The forms are {known}"


def _open_npz(path: Path) -> Source:
    """`npz:FILE`: images and labels in one file."""
    arrays = open_arrays(path)
    if arrays.labels is None:
        raise ValueError(f"{path} has no labels; expected them under {' or '.join(LABELS_KEYS)}")
    return array_source(path.stem, arrays.images, arrays.labels)
