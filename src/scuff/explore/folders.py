"""What a folder of results is shown by: its views, which need far more to be imported than corruptions do."""

from __future__ import annotations

from scuff.engine import read_statuses
from scuff.evaluation import read_evaluation
from scuff.evaluation.plan import SETTINGS
from scuff.evaluation.sampled import is_sample
from scuff.explore.evaluation import EvaluationView
from scuff.explore.overlap import OverlapView
from scuff.explore.report import ReportView
from scuff.explore.view import View
from scuff.report.page import need_drawing_packages
from scuff.report.write import TABLE, kind_of
from scuff.store import Store
from scuff.studies import OverlapStudy


def open_views(folder: str, data: str | None) -> dict[str, View]:
    """The views of what a folder holds, first the one with which a page begins: of anything, the report."""
    kind = kind_of(folder)
    own = _view_of_its_own(folder, kind, data)
    if not own:
        need_drawing_packages()
    takes_data = kind == SETTINGS and not is_sample(Store(folder))
    return own | ({"report": ReportView(folder, data if takes_data else None)} if ReportView.can_draw() else {})


def _view_of_its_own(folder: str, kind: str | None, data: str | None) -> dict[str, View]:
    """The view that only some kinds of results have, once there are any."""
    if folder.endswith(TABLE):
        return {"overlap": OverlapView(folder)}
    store = Store(folder)
    if kind == SETTINGS and store.names("rows", ".parquet") and not is_sample(store):
        evaluation = read_evaluation(folder)
        if "frame" not in evaluation.rows and "task" not in evaluation.settings:
            return {"evaluation": EvaluationView(evaluation, folder, data)}
    if kind == OverlapStudy.file and not _is_going_on(store):
        return {"overlap": OverlapView(folder)}
    return {}


def _is_going_on(store: Store) -> bool:
    statuses = read_statuses(store)
    return bool(statuses) and statuses[-1].state != "finished"
