"""How near augmentations come to corruptions, as a network sees them; what that explains, and what is far from them.

The studies of Mintun, Kirillov and Xie (NeurIPS 2021) share most options, which are declared once, in the classes that
come first. Positional options are those of the last base first: schemes, suite, then data and out.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, TypeVar

from scuff.studies.base import Study, as_function, study
from scuff.studies.options import NUMBER, NUMBERS, REPEATED, SCHEMES, SEEDS, TEXT, WHOLE, WHOLES, WORDS, option

if TYPE_CHECKING:
    from scuff.augment import Scheme
    from scuff.data import Source
    from scuff.evaluation.choices import Models
    from scuff.suites import Suite
    from scuff.training.recipes import Recipe

R = TypeVar("R")
FOLDER = "scuff.studies.transform_space"


# --- shared options ---------------------------------------------------------------------------------------------------


@study
class WithResamplings:
    """Repetitions."""

    _: KW_ONLY
    resamplings: int = option(
        "Number of repetitions with fresh images and draws; two or more show the spread.", 1, kind=WHOLE, metavar="N"
    )


@study
class WithSchemes(WithResamplings):
    """Augmentation schemes."""

    schemes: str | Sequence[str] | Mapping[str, Scheme | str] = option(
        "Augmentation schemes: augmix, autoaugment, powerset-64, ... (see scuff train --help).",
        kind=SCHEMES,
        metavar="SCHEMES",
        resume="joins",
    )
    _: KW_ONLY
    augmentations: int = option(
        "Draws of every scheme. MSD is a minimum and falls with their number.", 10_000, kind=WHOLE, metavar="N"
    )


@study
class WithSuite:
    """Corruptions of a suite."""

    suite: str | Suite = option(
        "Corruptions: cifar10-c, imagenet-c, FILE.yaml, ...", kind=TEXT, metavar="SUITE", is_argument=True
    )
    _: KW_ONLY
    only: Sequence[str] | None = option(
        "Use only these corruptions, as in fog,snow. Default: all of the benchmark.", None, kind=WORDS, metavar="NAMES"
    )
    severities: Sequence[int] | None = option(
        "Use only these severities, as in 1,3. Default: all.", None, kind=WHOLES, metavar="LEVELS", flag="--severity"
    )


@study
class WithData:
    """Training images, and the folder of the study."""

    data: str | Source = option(
        "Training images: fashion, cifar10:DIR, folder:DIR, npz:FILE, hf:DIR.",
        kind=TEXT,
        metavar="DATA",
        resume="noted",
    )
    out: str | os.PathLike[str] = option(
        "Folder for the results; existing results are reused.", kind=TEXT, metavar="DIR", resume="noted"
    )


@study
class WithTests:
    """Test images."""

    _: KW_ONLY
    test: str | Source | None = option(
        "Test images. Default: the test split of the data.", None, kind=TEXT, metavar="DATA", resume="noted"
    )
    limit: int | None = option("Number of test images, evenly spread.", None, kind=WHOLE, metavar="N")


@study
class FeatureStudy(WithData, Study[R]):
    """A study that looks at transforms through the features of a network."""

    question = "transform_space"
    noted = ("extractor_address", "images_per_second")

    _: KW_ONLY
    images: int = option("Images used to compute features.", 100, kind=WHOLE, metavar="N")
    samples: int = option(
        "Draws of a corruption; the mean of their features is its centre.", 100, kind=WHOLE, metavar="N"
    )
    sampling: str = option(
        "independent: all images share each draw; joint: every image has its own, and --samples does not count.",
        "independent",
        kind=TEXT,
        metavar="independent|joint",
    )
    seed: int = option("Seed of the choice of images and of all draws.", 0, kind=WHOLE)
    precision: str | None = option(
        "float32, bfloat16 or float16. Default: bfloat16 on a GPU, float32 on a CPU.", None, kind=TEXT, metavar="NAME"
    )


@study
class DistanceStudy(FeatureStudy[R]):
    """A study whose features are those of one network, which may have to be trained first."""

    _: KW_ONLY
    extractor: Any = option(
        "Network whose features are used. Default: one is trained without augmentation.",
        None,
        kind=TEXT,
        metavar="MODEL",
    )
    recipe: str | Recipe | None = option(
        "Training recipe: fashion, cifar-fast, cifar-augmentation, ... (see scuff train --help).",
        None,
        kind=TEXT,
        metavar="NAME",
    )
    architecture: str | None = option("Network to train instead of the recipe's.", None, kind=TEXT)
    epochs: int | None = option("Number of epochs instead of the recipe's.", None, kind=WHOLE, metavar="N")


@study
class TrialStudy(WithTests, DistanceStudy[R]):
    """A study that trains networks on differently treated images, and tests them."""

    _: KW_ONLY
    recipe: str | Recipe = option(
        "Training recipe of all networks: fashion, cifar-fast, ... (see scuff train --help).", kind=TEXT, metavar="NAME"
    )
    seeds: int | Sequence[int] = option(
        "Number of trainings of everything, or their seeds, as in 3,7.", 1, kind=SEEDS, metavar="N", resume="joins"
    )


# --- the studies ------------------------------------------------------------------------------------------------------


@study
class DistancesStudy(DistanceStudy["Distances"], WithSuite, WithSchemes):
    """Measure MSD and MMD of augmentation schemes to the corruptions of a suite.

    The feature of a transform is the mean of a network's last hidden layer over a fixed set of images. Every corruption
    at every severity becomes a point, the centre of many draws; every scheme a cloud. MSD is how near the nearest
    augmentation comes to a centre, MMD the distance of the means. More schemes can join a folder later.
    """

    name, command = "distances", "distance schemes"
    planner, reader = f"{FOLDER}.plan:plan_distances", f"{FOLDER}.distances:read_distance_study"


@study
class CorrelationStudy(TrialStudy["pd.DataFrame"], WithSuite, WithSchemes):
    """Correlate distances with errors: do schemes that come nearer to a corruption help more against it?

    Measures the distances of all schemes, trains a network with each, tests all of them, and returns Spearman's
    correlation over schemes of MSD and error, one line per corruption. It takes at least five schemes, better dozens:
    the augmentation powerset, `"powerset-64"`, is made for this. More schemes and seeds can join a folder later.
    """

    name, command, file = "correlation", "distance correlation", "trials.json"
    planner, reader = f"{FOLDER}.correlation:plan_correlation", f"{FOLDER}.correlation:read_correlation"


@study
class _Pair:
    right: str = option("Corruption of the test, SUITE/NAME.", kind=TEXT, metavar="TESTED", is_argument=True)
    other: str = option("Corruption that is mixed into training.", kind=TEXT, metavar="OTHER", is_argument=True)


@study
class MixingStudy(TrialStudy["pd.DataFrame"], WithResamplings, _Pair):
    """Train with two corruptions in changing shares, and test on one of them (figure 2b of the paper).

    An image meets the other corruption with probability p, the tested one otherwise. MMD grows with p; MSD and error
    stay low as long as a few augmentations are right. Returns share, mmd, msd, seed, error, clean_error.
    """

    name, command = "mixing", "distance mixing"
    planner, reader = f"{FOLDER}.mixing:plan_mixing", f"{FOLDER}.mixing:read_mixing"
    noted = (*FeatureStudy.noted, "schemes")

    _: KW_ONLY
    # Without levels, corruptions have no severity: None is 3 or nothing.
    severity: int | None = option("Severity of both corruptions (default 3).", None, kind=WHOLE, metavar="LEVEL")
    shares: Sequence[float] = option(
        "Probabilities of the other corruption in training.",
        (0.0, 0.5, 0.9, 0.99, 1.0),
        kind=NUMBERS,
        metavar="P,P,...",
        resume="joins",
    )
    augmentations: int = option("Draws of every mixture.", 1000, kind=WHOLE, metavar="N")


@study
class _OneScheme:
    scheme: str | Mapping[str, Scheme | str] = option(
        "Scheme whose augmentations are chosen from.", kind=SCHEMES, metavar="SCHEME", command_default="augmix"
    )


@study
class SubsetsStudy(TrialStudy["pd.DataFrame"], WithSuite, _OneScheme):
    """Train with few augmentations: those closest to the corruptions, the farthest, or random ones (appendix B).

    Many augmentations of a scheme are drawn once, and ordered by how near they come to some corruption. If nearness
    matters, few close ones do as well as the whole scheme, and few far ones do not. Returns kind, size, seed,
    clean_error, error; a network trained with the whole scheme, of kind "all" and size 0, is for comparison. All
    trainings share the draws, and which of them are the random ones.
    """

    name, command = "subsets", "distance subsets"
    planner, reader = f"{FOLDER}.subsets:plan_subsets", f"{FOLDER}.subsets:read_subsets"

    _: KW_ONLY
    sizes: Sequence[int] = option(
        "Numbers of augmentations to train with.",
        (1, 3, 10, 30, 100, 300, 1000),
        kind=WHOLES,
        metavar="K,K,...",
        resume="joins",
    )
    kinds: Sequence[str] = option(
        "Which augmentations to train with: closest, random, farthest.",
        ("closest", "random", "farthest"),
        kind=WORDS,
        metavar="KINDS",
        resume="joins",
    )
    draws: int = option("Number of augmentations to choose from.", 100_000, kind=WHOLE, metavar="N")


@study
class _TwoSuites:
    reference: str | Suite = option("Suite to be different from.", kind=TEXT, metavar="REFERENCE", is_argument=True)
    candidates: str | Suite = option(
        "Suite whose corruptions are chosen from.", kind=TEXT, metavar="CANDIDATES", is_argument=True
    )


@study
class DissimilarStudy(WithTests, FeatureStudy["Dissimilar"], _TwoSuites):
    """Choose corruptions that look different from those of another benchmark, and are as hard.

    Classifiers are tested on the reference and on all candidates at all severities, and extractors measure the centre
    of each of these. What is chosen from that (`scuff.design.find_dissimilar`) takes seconds, and may be chosen again
    in the same folder with another size, tolerance or spread. A reference has at least three severities unless `spread`
    is given; a candidate at least five, of which five are chosen. Every repetition has fresh images and draws.
    """

    name, command = "dissimilar", "design dissimilar"
    planner, reader = f"{FOLDER}.dissimilar_plan:plan_dissimilar", f"{FOLDER}.dissimilar:read_dissimilar"
    noted = ("levels", "name", "result", "addresses")
    saves_first = False  # an earlier choice stays until there is a new one

    _: KW_ONLY
    models: Models = option(
        "Classifier whose errors count; repeat it for several repetitions.",
        kind=REPEATED,
        metavar="MODEL",
        flag="--model",
    )
    extractors: Models = option(
        "Another network, whose features are used; one per --model, or one for all.",
        kind=REPEATED,
        metavar="MODEL",
        flag="--extractor",
    )
    only: Sequence[str] | None = option(
        "Choose from these candidates only, as in lines,ripple,sparkles.",
        None,
        kind=WORDS,
        metavar="NAMES",
        resume="noted",
    )
    size: int = option("Number of corruptions; even.", 10, kind=WHOLE, metavar="N", resume="noted")
    tolerance: float = option(
        "Relative deviation allowed for the error of half a benchmark.",
        0.01,
        kind=NUMBER,
        metavar="SHARE",
        resume="noted",
    )
    spread: float | None = option(
        "Relative difference of errors between the middle severity and the outer ones. Default: that of the reference.",
        None,
        kind=NUMBER,
        metavar="SHARE",
        resume="noted",
    )
    benchmarks: int = option(
        "Number of benchmarks that are drawn and compared.", 100_000, kind=WHOLE, metavar="N", resume="noted"
    )
    suite_name: str = option("Name of the new suite.", "dissimilar", kind=TEXT, metavar="NAME", resume="noted")


distances = as_function(DistancesStudy)
correlation = as_function(CorrelationStudy)
mixing = as_function(MixingStudy)
subsets = as_function(SubsetsStudy)
dissimilar = as_function(DissimilarStudy)
