"""A study of one's own: which classes suffer most. `scuff classes MODEL --suite S --data D --out DIR`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from scuff.options import TEXT, Option
from scuff.studies.base import Plan, Study, check_folder, complete_settings, open_engine_of, register, study
from scuff.vocabulary import Limit, Out

if TYPE_CHECKING:
    import pandas as pd

TABLE = "classes.csv"


@register
@study
class ClassesStudy(Study["pd.DataFrame"]):
    """Measure the error of each class, on clean and on corrupted images."""

    name = question = command = "classes"
    planner, reader = f"{__name__}:plan_classes", f"{__name__}:read_classes"
    page = "scuff_stripes.page:page"

    model: Annotated[str, Option("Model to test.", TEXT, is_argument=True)]
    suite: Annotated[str, Option("Suite of corruptions.", TEXT)]
    data: Annotated[str, Option("Test images.", TEXT)]
    out: Out
    limit: Limit = None


def plan_classes(asked: ClassesStudy) -> "Plan[pd.DataFrame]":
    """Open model and data, check them, and find out what is left to do."""
    from scuff.evaluation.plan import plan_evaluation
    from scuff.store import Store

    engine, device = open_engine_of(asked)
    store = Store(asked.out)
    tests = plan_evaluation(asked.model, asked.suite, asked.data, store.child("evaluation").root, limit=asked.limit)
    settings = complete_settings(asked, {"suite": asked.suite, "data": asked.data, "limit": asked.limit}, device)
    check_folder(asked, store, settings)
    return Plan(asked, settings, ClassesWork(store, tests, device), store, engine)


def read_classes(directory: str) -> "pd.DataFrame":
    """The table in a folder."""
    import io

    import pandas as pd

    from scuff.store import Store

    return pd.read_csv(io.BytesIO(Store(directory).read(TABLE)), index_col="label")


@dataclass(frozen=True, eq=False)
class ClassesWork:
    """The tests of the model."""

    store: Any
    tests: Any
    device: Any

    def run(self, run: Any) -> None:
        """Run the tests; existing results are reused."""
        from scuff.evaluation.run import run_tests

        run_tests(run, self.tests, self.device)

    def collect(self) -> "pd.DataFrame":
        """The errors of every class."""
        from scuff.evaluation import read_evaluation

        rows = read_evaluation(self.tests.store.root).rows
        rows["kind"] = (rows["corruption"] == "clean").map({True: "clean", False: "corrupted"})
        rows["error"] = rows["prediction"] != rows["label"]
        table = rows.pivot_table(index="label", columns="kind", values="error")
        self.store.write(TABLE, table.to_csv().encode())
        return table

    def cost(self) -> Any:
        """What is left to do."""
        from scuff.evaluation.cost import estimate

        return estimate(self.tests, self.device, journals=self.store)

    def describe(self) -> Iterator[str]:
        """What will be done."""
        yield f"Tests: {len(self.tests.cells)}; in {self.store.root}"
