"""`tamis operators`: what conditions may call beyond the functions of the language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.cli.options import Json

if TYPE_CHECKING:
    from tamis.operators import Operator
    from tamis.operators.reporting import OperatorReport


def operators(
    module: Annotated[
        list[str] | None,
        typer.Option(
            "--module",
            metavar="MODULE",
            help="Load it: package.module, package.module:function, or a TOML file with [operators].",
        ),
    ] = None,
    library: Annotated[
        list[str] | None,
        typer.Option(
            "--library",
            metavar="NAME[:KEY=VALUE]",
            help="Load a subject of the library; once more for each of its settings.",
        ),
    ] = None,
    statistics: Annotated[
        str | None,
        typer.Option(
            "--statistics",
            metavar="PLACE",
            help="Where it is known what calls cost: a snapshot, or operators.json in the state of a pipeline.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the operators that conditions may call.

    Those of installed packages are found by themselves. With --statistics each has what a call took, and, if it
    is the file of a pipeline, how many calls there were and how many failed.

    \b
    Examples:
      tamis operators --library networks
      tamis operators --module alarms.operators --json
      tamis operators --module pipeline.toml --statistics state/operators.json
      tamis operators --library spatial:regions=regions.geojson --library spatial:name=code

    Exit code 2 if something cannot be loaded or read.
    """
    from tamis.cli.loading import load_given
    from tamis.cli.output import JsonLines, reported_errors
    from tamis.operators import OPERATORS

    with reported_errors():
        load_given(module or [], _library(library or []))
        costs, reports = ({}, {}) if statistics is None else _known(statistics)
        rows = [_row(OPERATORS[name], costs.get(name), reports.get(name)) for name in sorted(OPERATORS)]
    if json:
        lines = JsonLines()
        for row in rows:
            lines.write(row)
    else:
        _print(rows, known=statistics is not None)


def _library(given: list[str]) -> dict[str, dict[str, Any]]:
    """The settings of each subject; a value that is no JSON is a text."""
    import json

    from tamis.cli.output import fail

    found: dict[str, dict[str, Any]] = {}
    for each in given:
        name, _, setting = each.partition(":")
        settings = found.setdefault(name, {})
        if setting:
            key, equals, value = setting.partition("=")
            if not equals:
                fail(f"--library {each}: expected NAME or NAME:KEY=VALUE")
            try:
                settings[key] = json.loads(value)
            except ValueError:
                settings[key] = value
    return found


def _known(place: str) -> tuple[dict[str, float], dict[str, OperatorReport]]:
    """What calls cost, and what operators did as far as it is known."""
    from pathlib import Path

    from tamis.operators.reporting import Ledger
    from tamis.snapshot import Snapshots

    if Path(place).is_file():
        ledger = Ledger(place)
        return ledger.costs(), {each.operator: each for each in ledger.reports()}
    costs: dict[str, float] = {}
    snapshots = Snapshots(place)
    for document in (snapshots.statistics(snapshots.manifest().version) or {}).values():
        costs.update(document.get("costs", {}))
    return costs, {}


def _row(operator: Operator, cost: float | None, report: OperatorReport | None) -> dict[str, Any]:
    return {
        "operator": operator.name,
        "signature": operator.signature,
        "description": operator.description,
        "declared_cost": operator.cost,
        "learned_cost": cost,
        "calls": None if report is None else report.calls,
        "failures": None if report is None else report.failures,
        "lately": [] if report is None else report.to_dict()["lately"],
    }


def _print(rows: list[dict[str, Any]], *, known: bool) -> None:
    from tamis.cli.output import note, print_table
    from tamis.progress import duration_text

    if not rows:
        note("tamis: there are no operators; name modules with --module, or subjects with --library")
        return

    def shown(value: float | None, text: Any) -> str:
        return "" if value is None else text(value)

    titles = ["signature", "cost", *(["learned", "calls", "failures"] if known else []), "description"]
    table = []
    for row in rows:
        counts = [shown(row[name], "{:,}".format) for name in ("calls", "failures")]
        learned = [shown(row["learned_cost"], duration_text), *counts]
        cost = shown(row["declared_cost"], duration_text)
        table.append([row["signature"], cost, *(learned if known else []), row["description"]])
    print_table(titles, table)
