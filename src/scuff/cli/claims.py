"""`scuff check`: decide claims about a model."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scuff.cli.study import study_command
from scuff.studies.claims.study import ClaimsStudy

if TYPE_CHECKING:
    from scuff.studies.claims.results import Checked

Case = tuple[str, str, float, str, str, str]  # class, name, seconds, element ("" if it passes), type, message

Junit = Annotated[str | None, typer.Option("--junit", metavar="FILE", help="Write a JUnit file, for CI.")]


def _tell_ci(error: Exception, given: dict[str, Any]) -> None:
    """An error stands in the JUnit file too: CI systems may look at nothing else."""
    if given["junit"] is not None:
        _write_suite(given["junit"], [("scuff check", "all claims", 0.0, "error", type(error).__name__, str(error))])


@study_command(ClaimsStudy, failed=_tell_ci)
def check_command(plan: Any, checked: Any, *, junit: Junit = None) -> None:
    """Decide claims about a model, with as few passes as they need: a gate before deployment.

    A claim is a sentence such as "accuracy in fog up to severity 3 is at least 80 %, at 99 %". Images are tried one
    after the other until the evidence is enough: the claim holds, or it fails; or the budget ends, and it is undecided.
    Stopping early costs nothing: at 99 %, a false claim is said to hold in 1 % of cases at most.

    The exit code is 0 if all claims hold, 1 if one fails, 3 if one is undecided, and 2 if the file is wrong. Interrupt
    it whenever you like: the same command goes on, and asks nothing twice. With --rows DIR, the rows of a finished
    evaluation decide, and no model is needed.

    \b
    A file of claims:
      claims: 1
      suite: imagenet-c
      confidence: 0.99
      budget: 20000
      list:
        fog: {metric: accuracy, of: fog, severity: {to: 3}, over: each, at_least: 0.80}
        whole: {metric: mean_error, at_most: 0.55}

    \b
    Examples:
      scuff check claims.yaml torchvision:resnet50 --data folder:val --out runs/gate --junit gate.xml
      scuff check claims.yaml torchvision:resnet50 --data folder:val --out runs/gate --dry-run
      scuff check claims.yaml --rows runs/c --of resnet50 --out runs/gate
    """
    from scuff.cli.console import print_table
    from scuff.report.claims import measured
    from scuff.tables import Column, Table

    columns = [
        Column("", lambda claim: claim.name),
        Column("verdict", lambda claim: claim.verdict.upper() if claim.verdict == "fails" else claim.verdict),
        *([Column("Holm", lambda claim: claim.holm)] if checked.claims[0].holm else []),
        Column("measured", measured),
        Column("claim", lambda claim: claim.sentence),
        Column("passes", lambda claim: claim.passes, str),
    ]
    print_table(Table.of("", list(checked.claims), columns))
    for claim in checked.claims:
        for note in claim.notes:
            typer.echo(f"  {claim.name}: {note}")
    typer.echo("In brackets: where the value may be, each end at the claim's confidence, however often one looks.")
    if junit is not None:
        write_junit(checked, junit)
    words = {"holds": "The model passes", "fails": "The model does not pass", "undecided": "Not decided"}
    typer.echo(f"{words[checked.verdict]}: {plan.store.root}/claims.json")
    typer.echo(f"Next: scuff report {shlex.quote(plan.store.root)}")
    raise typer.Exit(checked.exit_code)


def write_junit(checked: Checked, path: str) -> None:
    """One test case per claim, as CI systems read it."""
    from scuff.report.claims import measured

    cases: list[Case] = []
    for claim in checked.claims:
        is_allowed = claim.verdict == "undecided" and claim.is_allowed
        outcome = "" if claim.verdict == "holds" else "skipped" if is_allowed else "failure"
        message = f"{claim.sentence}: {measured(claim)} after {claim.passes} passes"
        cases.append((checked.model, claim.name, claim.seconds, outcome, claim.verdict, message))
    _write_suite(path, cases)


def _write_suite(path: str, cases: list[Case]) -> None:
    import xml.etree.ElementTree as ET

    from scuff.files import write_by_rename

    outcomes = [outcome for _, _, _, outcome, _, _ in cases]
    counts = {"tests": len(cases), **{f"{kind}s": outcomes.count(kind) for kind in ("failure", "error")}}
    numbers = {key: str(value) for key, value in {**counts, "skipped": outcomes.count("skipped")}.items()}
    seconds = sum(case[2] for case in cases)
    suites = ET.Element("testsuites")
    suite = ET.SubElement(suites, "testsuite", {"name": "scuff check", **numbers, "time": f"{seconds:.3f}"})
    for classname, name, taken, outcome, kind, message in cases:
        case = ET.SubElement(suite, "testcase", {"classname": classname, "name": name, "time": f"{taken:.3f}"})
        if outcome:
            about = {} if outcome == "skipped" else {"type": kind}
            ET.SubElement(case, outcome, {**about, "message": message})
    ET.indent(suites)
    with write_by_rename(path) as file:
        file.write(ET.tostring(suites, encoding="utf-8", xml_declaration=True))
