"""How near augmentations come to corruptions, as a network sees them; what that explains, and what is far from them.

The studies of Mintun, Kirillov and Xie (NeurIPS 2021).
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, field, fields
from typing import TYPE_CHECKING, Annotated, Any, Required, TypedDict

from scuff.options import NUMBER, NUMBERS, REPEATED, SCHEMES, TEXT, WHOLE, WHOLES, WORDS, Option
from scuff.studies.base import R, Study, StudySettings, as_function, study
from scuff.vocabulary import (
    Architecture,
    Data,
    Epochs,
    Extractor,
    Limit,
    MaybeRecipe,
    Only,
    Out,
    Precision,
    RecipeName,
    Schemes,
    Seed,
    Seeds,
    Severities,
    SkipUnreadable,
    SuiteName,
    Test,
)

if TYPE_CHECKING:
    import pandas as pd  # noqa: F401  (of the base class)

    from scuff.augment import Scheme
    from scuff.design.transform_space.dissimilar import Dissimilar  # noqa: F401  (of the base class)
    from scuff.evaluation.choices import Models
    from scuff.metrics.transform_space.distances import Distances  # noqa: F401  (of the base class)
    from scuff.suites import Suite

FOLDER = "scuff.studies.transform_space"
SAMPLING = "independent: all images share each draw; joint: every image has its own, and --samples does not count."
EXTRACTORS = "Another network, whose features are used; one per --model, or one for all."
SPREAD = "Relative difference of errors between the middle severity and the outer ones. Default: that of the reference."

Samples = Annotated[int, Option("Draws of a corruption; the mean of their features is its centre.", WHOLE, "N")]
Resamplings = Annotated[
    int, Option("Number of repetitions with fresh images and draws; two or more show the spread.", WHOLE, "N")
]
Augmentations = Annotated[
    int, Option("Draws of every scheme. MSD is a minimum and falls with their number.", WHOLE, "N")
]


class Named(TypedDict, total=False):
    """A suite, a recipe or a network, as far as pages name it."""

    suite: str
    name: str


class ExtractorSettings(Named, total=False):
    """A network: one that is given has a name, another one a recipe."""

    recipe: Named


class SchemesSettings(StudySettings, total=False):
    """What the settings of all studies of schemes hold."""

    suite: Required[Named]
    levels: Required[dict[str, list[int | None]]]
    schemes: Required[dict[str, Any]]
    resamplings: Required[int]
    extractor: ExtractorSettings
    images: int
    augmentations: int


class CorrelationSettings(StudySettings, total=False):
    """The form of trials.json, which lies beside that of the distances."""

    seeds: Required[list[int]]
    schemes: list[str] | dict[str, Any]


class MixingSettings(CorrelationSettings, total=False):
    """The form of mixing.json."""

    right: str
    other: str
    severity: int | None
    shares: list[float]


class SubsetsSettings(CorrelationSettings, total=False):
    """The form of subsets.json."""

    sizes: list[int]
    kinds: list[str]


class ChosenSettings(TypedDict):
    """The numbers of `scuff.design.Dissimilar`."""

    target: float
    error: float
    distance: float
    repetition: int
    spreads: list[float]
    matched_sets: list[int]
    sets: int
    all_sets: bool


class DissimilarSettings(StudySettings, total=False):
    """The form of dissimilar.json; without a result, nothing is chosen yet."""

    reference: Named
    result: ChosenSettings


@study
class FeatureStudy(Study[R]):
    """A study that looks at transforms through the features of a network."""

    question = "transform_space"
    noted = ("extractor_address", "images_per_second")

    _: KW_ONLY
    images: Annotated[int, Option("Images used to compute features.", WHOLE, "N")] = 100
    samples: Samples = 100
    sampling: Annotated[str, Option(SAMPLING, TEXT, "independent|joint")] = "independent"
    seed: Seed = 0
    precision: Precision = None
    skip_unreadable: SkipUnreadable = False


@study
class DistanceStudy(FeatureStudy[R]):
    """A study whose features are those of one network, which may have to be trained first."""

    _: KW_ONLY
    extractor: Extractor = None
    recipe: MaybeRecipe = None
    architecture: Architecture = None
    epochs: Epochs = None


@study
class TrialStudy(DistanceStudy[R]):
    """A study that trains networks on differently treated images, and tests them."""

    _: KW_ONLY
    recipe: RecipeName = field()  # required here
    seeds: Seeds = 1
    test: Test = None
    limit: Limit = None

    def distances(self, **changes: Any) -> "DistancesStudy":
        """The study of distances that this one begins with: the options that both have, and some `changes`."""
        names = [option.name for option in fields(DistancesStudy) if hasattr(self, option.name)]
        return DistancesStudy(**{name: getattr(self, name) for name in names} | changes)


@study
class SchemesStudy(DistanceStudy[R]):
    """A study of augmentation schemes and the corruptions of a suite."""

    schemes: Schemes
    suite: SuiteName
    data: Data
    out: Out
    _: KW_ONLY
    only: Only = None
    severities: Severities = None
    augmentations: Augmentations = 10_000
    resamplings: Resamplings = 1


@study
class DistancesStudy(SchemesStudy["Distances"]):
    """Measure MSD and MMD of augmentation schemes to the corruptions of a suite.

    The feature of a transform is the mean of a network's last hidden layer over a fixed set of images. Every corruption
    at every severity becomes a point, the centre of many draws; every scheme a cloud. MSD is how near the nearest
    augmentation comes to a centre, MMD the distance of the means. More schemes can join a folder later.
    """

    name, command = "distances", "distance schemes"
    planner, reader = f"{FOLDER}.distances:plan_distances", f"{FOLDER}.distances:read_distance_study"
    form = SchemesSettings


@study
class CorrelationStudy(TrialStudy["pd.DataFrame"], SchemesStudy["pd.DataFrame"]):
    """Correlate distances with errors: do schemes that come nearer to a corruption help more against it?

    Measures the distances of all schemes, trains a network with each, tests all of them, and returns Spearman's
    correlation over schemes of MSD and error, one line per corruption. It takes at least five schemes, better dozens:
    the augmentation powerset, `"powerset-64"`, is made for this. The correlation counts the schemes of the call, over
    all seeds of the folder; of others, networks and distances stay there and are reused when a later call names them.
    """

    name, command, file = "correlation", "distance correlation", "trials.json"
    planner, reader = f"{FOLDER}.trials:plan_correlation", f"{FOLDER}.trials:read_correlation"
    form = CorrelationSettings

    schemes: Annotated[
        Schemes,
        Option("Schemes that the correlation counts: powerset-64, augmix, ...", SCHEMES, "SCHEMES", resume="noted"),
    ]


@study
class MixingStudy(TrialStudy["pd.DataFrame"]):
    """Train with two corruptions in changing shares, and test on one of them (figure 2b of the paper).

    An image meets the other corruption with probability p, the tested one otherwise. MMD grows with p; MSD and error
    stay low as long as a few augmentations are right. Returns share, mmd, msd, seed, error, clean_error.
    """

    name, command = "mixing", "distance mixing"
    planner, reader = f"{FOLDER}.mixing:plan_mixing", f"{FOLDER}.mixing:read_mixing"
    form = MixingSettings
    noted = (*FeatureStudy.noted, "schemes")  # type: ignore[assignment]

    right: Annotated[str, Option("Corruption of the test, SUITE/NAME.", TEXT, "TESTED", is_argument=True)]
    other: Annotated[str, Option("Corruption that is mixed into training.", TEXT, "OTHER", is_argument=True)]
    data: Data
    out: Out
    _: KW_ONLY
    # Without levels, corruptions have no severity: None is 3 or nothing.
    severity: Annotated[int | None, Option("Severity of both corruptions (default 3).", WHOLE, "LEVEL")] = None
    shares: Annotated[
        Sequence[float],
        Option("Probabilities of the other corruption in training.", NUMBERS, "P,P,...", resume="joins"),
    ] = (0.0, 0.5, 0.9, 0.99, 1.0)
    augmentations: Annotated[int, Option("Draws of every mixture.", WHOLE, "N")] = 1000
    resamplings: Resamplings = 1


@study
class SubsetsStudy(TrialStudy["pd.DataFrame"]):
    """Train with few augmentations: those closest to the corruptions, the farthest, or random ones (appendix B).

    Many augmentations of a scheme are drawn once, and ordered by how near they come to some corruption. If nearness
    matters, few close ones do as well as the whole scheme, and few far ones do not. Returns kind, size, seed,
    clean_error, error; a network trained with the whole scheme, of kind "all" and size 0, is for comparison. All
    trainings share the draws, and which of them are the random ones.
    """

    name, command = "subsets", "distance subsets"
    planner, reader = f"{FOLDER}.subsets:plan_subsets", f"{FOLDER}.subsets:read_subsets"
    form = SubsetsSettings

    scheme: Annotated[
        "str | Mapping[str, Scheme | str]",
        Option("Scheme whose augmentations are chosen from.", SCHEMES, "SCHEME", command_default="augmix"),
    ]
    suite: SuiteName
    data: Data
    out: Out
    _: KW_ONLY
    only: Only = None
    severities: Severities = None
    sizes: Annotated[
        Sequence[int], Option("Numbers of augmentations to train with.", WHOLES, "K,K,...", resume="joins")
    ] = (1, 3, 10, 30, 100, 300, 1000)
    kinds: Annotated[
        Sequence[str],
        Option("Which augmentations to train with: closest, random, farthest.", WORDS, "KINDS", resume="joins"),
    ] = ("closest", "random", "farthest")
    draws: Annotated[int, Option("Number of augmentations to choose from.", WHOLE, "N")] = 100_000


@study
class DissimilarStudy(FeatureStudy["Dissimilar"]):
    """Choose corruptions that look different from those of another benchmark, and are as hard.

    Classifiers are tested on the reference and on all candidates at all severities, and extractors measure the centre
    of each of these. What is chosen from that (`scuff.design.find_dissimilar`) takes seconds, and may be chosen again
    in the same folder with another size, tolerance or spread. A reference has at least three severities unless `spread`
    is given; a candidate at least five, of which five are chosen. Every repetition has fresh images and draws.
    """

    name, command = "dissimilar", "design dissimilar"
    planner, reader = f"{FOLDER}.dissimilar:plan_dissimilar", f"{FOLDER}.dissimilar:read_dissimilar"
    form = DissimilarSettings
    noted = ("levels", "name", "result", "addresses")  # type: ignore[assignment]
    saves_first = False  # an earlier choice stays until there is a new one

    reference: Annotated["str | Suite", Option("Suite to be different from.", TEXT, "REFERENCE", is_argument=True)]
    candidates: Annotated[
        "str | Suite", Option("Suite whose corruptions are chosen from.", TEXT, "CANDIDATES", is_argument=True)
    ]
    data: Data
    out: Out
    _: KW_ONLY
    models: Annotated[
        "Models",
        Option("Classifier whose errors count; one per repetition.", REPEATED, "MODEL", "--model"),
    ]
    extractors: Annotated["Models", Option(EXTRACTORS, REPEATED, "MODEL", "--extractor")]
    test: Test = None
    limit: Limit = None
    only: Annotated[
        Only, Option("Choose from these candidates only, as in lines,ripple,sparkles.", WORDS, "NAMES", resume="noted")
    ] = None
    size: Annotated[int, Option("Number of corruptions; even.", WHOLE, "N", resume="noted")] = 10
    tolerance: Annotated[
        float,
        Option("Relative deviation allowed for the error of half a benchmark.", NUMBER, "SHARE", resume="noted"),
    ] = 0.01
    spread: Annotated[float | None, Option(SPREAD, NUMBER, "SHARE", resume="noted")] = None
    benchmarks: Annotated[
        int, Option("Number of benchmarks that are drawn and compared.", WHOLE, "N", resume="noted")
    ] = 100_000
    suite_name: Annotated[str, Option("Name of the new suite.", TEXT, "NAME", resume="noted")] = "dissimilar"


distances = as_function(DistancesStudy)
correlation = as_function(CorrelationStudy)
mixing = as_function(MixingStudy)
subsets = as_function(SubsetsStudy)
dissimilar = as_function(DissimilarStudy)
