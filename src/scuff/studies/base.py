"""What a study is: a question, its options, and everything that follows from them.

A study is a frozen dataclass whose fields are its options (`scuff.options`). Written once, here and in
`scuff.cli.study`, for all of them: the call from Python, the settings in its folder and what forbids resuming, running
and reading, the command line, `--dry-run`, the "same again" line of a report, and which page a folder gets.

A study of your own is a dataclass, and a function that plans it:

    @study
    class ToyStudy(Study["pd.DataFrame"]):
        \"\"\"Which class is recognised worst?\"\"\"

        name, question, command = "toy", "toy", "toy"
        planner, reader = "scuff.studies.toy.plan:plan_toy", "scuff.studies.toy.plan:read_toy"

        model: Annotated[str, Option("Model to test.", TEXT, is_argument=True)]
        out: Out

    toy = as_function(ToyStudy)

The planner opens what the options name, checks it, and returns a `Plan` whose `work` knows what is left to do.
"""

import dataclasses
import importlib
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, ParamSpec, Protocol, TypedDict, TypeVar, dataclass_transform

import scuff
from scuff.files import check_out
from scuff.options import OBJECT, REQUIRED, describe, flag_of, options_of, takes_options
from scuff.plugins import load_installed, note_part, plugin_files
from scuff.vocabulary import Device, EngineOption, ProgressOption

if TYPE_CHECKING:
    import torch

    from scuff.engine import Engine, Progress, Run
    from scuff.engine.cost import StudyCost
    from scuff.store import Settings, Store

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
C = TypeVar("C", bound=type)

NOT_KEPT = ("engine", "progress")  # options that say how a study runs, not what it asks
ALWAYS_NOTED = ("device", "environment", "options", "scuff", "unreadable")  # worth knowing, and no more


class StudySettings(TypedDict, total=False):
    """What a file of settings holds, as far as somebody reads it again. Studies add what is theirs."""

    data: str
    options: dict[str, Any]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def study(cls: C) -> C:
    """Make a class a study: a frozen dataclass."""
    return dataclass(frozen=True, eq=False)(cls)  # type: ignore[return-value]


@study
class Study(Generic[R]):
    """A question with its options. Subclasses name where they are planned, and add their own options."""

    name: ClassVar[str]  # of its journal and its page: scuff.report.QUESTION.NAME
    question: ClassVar[str]  # the folder that it has on every floor
    command: ClassVar[str]  # `scuff COMMAND`
    planner: ClassVar[str]  # "module:function": study -> Plan
    reader: ClassVar[str]  # "module:function": folder -> result
    file: ClassVar[str]  # of its settings; by default NAME.json
    page: ClassVar[str] = ""  # "module:function": folder -> Page; by default `page` of scuff.report.QUESTION.NAME
    form: ClassVar[Any] = StudySettings  # what that file must look like (see `scuff.readers`)
    noted: ClassVar[tuple[str, ...]] = ()  # settings beyond the options that may change in a folder
    resumes: ClassVar[bool] = True  # whether an interrupted run goes on where it was
    has_cells: ClassVar[bool] = True  # whether its work can be spread over processes and machines
    saves_first: ClassVar[bool] = True  # whether settings are written before the work; else the work writes them

    _: KW_ONLY
    device: Device = None
    engine: EngineOption = None
    progress: ProgressOption = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "file" not in cls.__dict__ and "name" in cls.__dict__:
            cls.file = f"{cls.name}.json"

    def __post_init__(self) -> None:
        check_out(getattr(self, "out", None))

    def plan(self) -> "Plan[R]":
        """Check the options and find out what is left to do, without doing it."""
        return _load(self.planner)(self)

    def run(self) -> R:
        """Do what is left, and return the result."""
        return self.plan().run()

    @classmethod
    def read(cls, directory: str | os.PathLike[str]) -> Any:
        """What the folder of a study holds."""
        return _load(cls.reader)(directory)

    @classmethod
    def read_settings(cls, directory: str | os.PathLike[str]) -> "Settings":
        """The settings in the folder of a study."""
        from scuff.store import Store, read_settings

        return read_settings(Store(directory), cls.file, cls.form)

    def options(self) -> dict[str, Any]:
        """The options as JSON; what is None or the default is left out."""
        values = {name: describe(getattr(self, name)) for name in options_of(type(self)) if name not in NOT_KEPT}
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        return {
            name: value
            for name, value in values.items()
            if defaults[name] is REQUIRED or value != describe(defaults[name])
        }


_own: dict[str, type[Study[Any]]] = {}
S = TypeVar("S", bound=Study[Any])


def register(cls: type[S]) -> type[S]:
    """Give a study of your own its command, `scuff COMMAND`, and its page; decorate the class above `@study`."""
    if not cls.command.isidentifier() or _own.get(cls.command, cls) is not cls:
        raise ValueError(f"the study {cls.__name__} needs a command of its own, in one word, got {cls.command!r}")
    _own[cls.command] = cls
    note_part("study", cls.command, cls.__module__)
    return cls


def own_studies() -> Mapping[str, type[Study[Any]]]:
    """The registered studies by their commands."""
    load_installed()
    return _own


class Work(Protocol[R_co]):
    """What differs between studies: cells that are left, how they run, and what becomes of them."""

    def run(self, run: "Run") -> None:
        """Do what is left. Cells go through `run`, which counts them and remembers failures."""

    def collect(self) -> R_co:
        """Gather all cells into the result, and write its tables."""

    def cost(self) -> "StudyCost":
        """What is left to do, in seconds and bytes. Writes nothing."""

    def describe(self) -> Iterable[str]:
        """What will be done, in lines for the terminal."""


@dataclass(frozen=True, eq=False)
class Plan(Generic[R]):
    """A study that is ready to run: its question, its folder, what its results depend on, and its work."""

    study: Study[R]
    settings: "Settings" = field(repr=False)
    work: Any  # a Work[R]; tests and tools look at what it holds
    store: "Store | None"
    engine: "Engine | None" = None

    def run(self, progress: "Progress | None" = None) -> R:
        """Write the settings, do what is left, and return the result."""
        from scuff.engine import Run
        from scuff.store import save_settings

        if self.store is not None and self.study.has_cells and self.study.saves_first:
            save_settings(self.store, self.study.file, self.settings)
        journal = self.store if self.study.has_cells else None
        with Run(self.engine, journal, progress or self.study.progress, self.study.name) as run:
            self.work.run(run)
        return self.work.collect()

    def cost(self) -> "StudyCost":
        """What is left to do, in seconds and bytes. Nothing is written."""
        return self.work.cost()


def as_function(study: Callable[P, Study[R]], name: str | None = None) -> Callable[P, R]:
    """A study as one call: `scuff.studies.overlap(...)` plans, runs and returns the result.

    It is called as the study is, or by a `name` of its own.
    """

    def function(asked: Study[R]) -> R:
        return asked.run()

    cls: Any = study
    function.__name__ = function.__qualname__ = name or cls.name
    function.__module__, function.__doc__ = cls.__module__, cls.__doc__
    return takes_options(study)(function)


# --- what planners share ----------------------------------------------------------------------------------------------


def open_engine_of(study: Study[Any]) -> "tuple[Engine, torch.device]":
    """The engine of a study, and the device on it."""
    from scuff.engine import LocalEngine

    engine = study.engine or LocalEngine()
    return engine, engine.find_device(study.device)


def complete_settings(study: Study[Any], settings: "Settings", device: "torch.device | None" = None) -> "Settings":
    """Settings with what those of every study hold: the device, versions, and the options as they were given."""
    from scuff.environment import environment

    where = {} if device is None else {"device": str(device), "environment": environment(device)}
    return {**settings, **where, "options": study.options(), "scuff": scuff.__version__}


def check_folder(study: Study[Any], store: "Store | None", settings: "Settings") -> "Settings | None":
    """The settings that the folder holds from before, None if it is new.

    Settings that differ forbid resuming, unless their option may change. Options that join are brought together in
    `settings["options"]`, so that the "same again" line names them all.
    """
    from scuff.store import check_settings

    declared = options_of(type(study))
    may_change = tuple(name for name, described in declared.items() if described.resume != "same")
    if store is None or not check_settings(store, study.file, settings, (*may_change, *study.noted, *ALWAYS_NOTED)):
        return None
    before = study.read_settings(store.root)
    earlier, options = before.get("options"), settings["options"]
    defaults = {field.name: field.default for field in dataclasses.fields(study)}
    for name, described in declared.items():
        if described.resume == "joins" and earlier is not None and (name in earlier or name in options):
            options[name] = join(*(given.get(name, describe(defaults[name])) for given in (earlier, options)))
    return before


def join(before: Any, now: Any) -> Any:
    """Values of before and now, each once; numbers of seeds count from 0, and mappings keep names.

    >>> join(2, [7]), join(["augmix"], "none"), join({"a": "x.pt"}, {"b": "y.pt"})
    ([0, 1, 7], ['augmix', 'none'], {'a': 'x.pt', 'b': 'y.pt'})
    """
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        return {**before, **now}
    values: list[Any] = []
    for given in (before, now):
        several = range(given) if isinstance(given, int) else given if isinstance(given, (list, tuple)) else [given]
        values += [value for value in several if value not in values]
    return sorted(values) if all(isinstance(value, (int, float)) for value in values) else values


# --- the same again ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Again:
    """The command that runs a study again, with all non-default options; and what must be put in place by hand."""

    words: str
    notes: tuple[str, ...] = ()


def again(study: Any, options: Mapping[str, Any], out: str) -> Again:
    """The command line of a study from the options in its settings; `out` is where its folder is now."""
    arguments: list[str] = []
    flags: list[str] = []
    objects: list[str] = []
    for name, described in options_of(study).items():
        if described.kind is None:
            objects += [f"{name} (Python only)"] if name in options else []
            continue
        value = out if name == "out" else options.get(name)
        if value is None or value is False:
            continue
        try:
            words = described.kind.write(_named(value, objects))
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            raise ValueError(f"the option {name} in the settings of {out} cannot be {value!r}") from error
        if described.is_argument:
            arguments += words
        else:
            flag = flag_of(name, described).partition("/")[0]
            flags += [part for word in words for part in (flag, word)] if words else [flag]
    flags += [part for file in plugin_files() for part in ("--plugin", file)]
    note = f"Given as Python objects, so put files or addresses in their place: {', '.join(objects)}."
    return Again(shlex.join(["scuff", *study.command.split(), *arguments, *flags]), (note,) if objects else ())


def again_from(study: type[Study[Any]], settings: Mapping[str, Any], out: str | None) -> Again | None:
    """The same from settings; None without a folder, and for one of an earlier version, which kept no options."""
    return None if out is None or "options" not in settings else again(study, settings["options"], out)


def _named(value: Any, objects: list[str]) -> Any:
    """Objects by their names, which are noted."""
    if isinstance(value, Mapping) and set(value) == {OBJECT}:
        objects.append(value[OBJECT])
        return value[OBJECT]
    if isinstance(value, Mapping):
        return {name: _named(item, objects) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_named(item, objects) for item in value]
    return value


def _load(address: str) -> Any:
    module, _, function = address.partition(":")
    return getattr(importlib.import_module(module), function)
