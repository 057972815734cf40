"""Plan a calibration: the model and images, the entries to search, and those that are finished."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from scuff.design.calibration.calibrate import TOLERANCE, check_wanted
from scuff.store import Settings, Store, read_settings
from scuff.studies.base import ALWAYS_NOTED, Plan, complete_settings, open_engine_of
from scuff.studies.calibration.bench import plan_bench
from scuff.studies.calibration.entries import choose_entries
from scuff.studies.calibration.study import CalibrationStudy
from scuff.studies.calibration.work import CalibrationWork, Kept
from scuff.suites import Suite, load_suite


def plan_calibration(study: CalibrationStudy) -> Plan[tuple[Suite, pd.DataFrame]]:
    """Open the model and the images, and find out which entries are left."""
    check_wanted(study.upper, study.lower)
    suite = study.suite if isinstance(study.suite, Suite) else load_suite(study.suite)
    entries = choose_entries(suite, study.only)
    file = None if study.out is None else _check_out(Path(study.out))
    engine, device = open_engine_of(study)
    images = {"limit": study.limit, "resize": study.resize, "crop": study.crop}
    bench = plan_bench(study.model, study.data, **images, mean=study.mean, std=study.std, device=device)
    name = study.suite_name or (file.stem if file else f"{suite.name}-{bench.source.name}".replace("/", "-"))
    wanted = {"upper": study.upper, "lower": study.lower, "tolerance": TOLERANCE}
    depends_on = {"suite": suite.fingerprint(), "name": name, "seed": study.seed, **wanted, **bench.settings()}
    settings = complete_settings(study, depends_on)
    work = CalibrationWork(bench, suite, entries, name, study.seed, wanted, _open_kept(file, settings), file)
    return Plan(study, settings, work, None, engine)


def _check_out(path: Path) -> Path:
    if path.suffix not in (".yaml", ".yml"):
        raise ValueError(f"a suite is a YAML file, as in my-suite.yaml; got {path}")
    return path


def _open_kept(suite_file: Path | None, settings: Settings) -> Kept:
    """The entries that are finished, from the file beside the suite's, if it has one."""
    if suite_file is None:
        return Kept(settings)
    store, name = Store(suite_file.parent), f"{suite_file.stem}.calibration.json"
    if not store.exists(name):
        return Kept(settings, store, name)
    before = read_settings(store, name)
    changed = [key for key, value in settings.items() if before.get(key) != value and key not in ALWAYS_NOTED]
    if changed:
        raise ValueError(
            f"{suite_file.with_name(name)} belongs to a calibration with other settings ({', '.join(changed)}); give "
            "the new suite another file, or delete this one"
        )
    return Kept(settings, store, name, before["entries"])
