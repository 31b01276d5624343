"""`tamis operators`: the operators that conditions may call in addition to the functions of the language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tamis.cli.options import Json

if TYPE_CHECKING:
    from tamis.operators import Operator
    from tamis.operators.reports import OperatorReport

_SHOWN = 3


def operators(
    module: Annotated[
        list[str] | None,
        typer.Option(
            "--module",
            metavar="MODULE",
            help="A module to load: package.module, package.module:function, or a TOML file with [operators].",
        ),
    ] = None,
    library: Annotated[
        list[str] | None,
        typer.Option(
            "--library",
            metavar="NAME[:KEY=VALUE]",
            help="A part of the operator library to load; repeat the option for each setting.",
        ),
    ] = None,
    statistics: Annotated[
        str | None,
        typer.Option(
            "--statistics",
            metavar="PLACE",
            help="Measured costs: a snapshot, or operators.json in the state of a pipeline.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the operators that conditions may call.

    Operators of installed packages are listed without an option. With --statistics, the list shows the cost and
    the results of calls and, from the state of a pipeline, the number of calls and of failures.

    \b
    Examples:
      tamis operators --library networks
      tamis operators --module alarms.operators --json
      tamis operators --module pipeline.toml --statistics state/operators.json
      tamis operators --library spatial:regions=regions.geojson --library spatial:name=code

    Exit code 2 if a module or file cannot be loaded.
    """
    from tamis.cli.operator_loading import load_operator_modules
    from tamis.cli.output import JsonLines, printing_errors
    from tamis.operators import OPERATORS

    with printing_errors():
        load_operator_modules(module or [], _library(library or []))
        known = _OperatorStatistics({}, {}, {}) if statistics is None else _read_statistics(statistics)
        rows = [_row(OPERATORS[name], known) for name in sorted(OPERATORS)]
    if json:
        lines = JsonLines()
        for row in rows:
            lines.write(row)
    else:
        _print(rows, known=statistics is not None)


def _library(given: list[str]) -> dict[str, dict[str, Any]]:
    """The settings by part of the library; a value that is not JSON is a text."""
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


class _OperatorStatistics(NamedTuple):
    """By operator: the cost of a call, the report of a pipeline, and descriptions of results."""

    costs: dict[str, float]
    reports: dict[str, OperatorReport]
    answers: dict[str, list[dict[str, Any]]]


def _read_statistics(place: str) -> _OperatorStatistics:
    import json
    from pathlib import Path

    from tamis.operators.reports import OperatorLedger
    from tamis.snapshot import Snapshots
    from tamis.statistics import Statistics

    found = _OperatorStatistics({}, {}, {})
    if Path(place).is_file():
        ledger = OperatorLedger(place)
        found.costs.update(ledger.costs())
        found.reports.update({each.operator: each for each in ledger.reports()})
        documents = [json.loads(text) for text in ledger.learned_statistics().values()]
    else:
        snapshots = Snapshots(place)
        documents = [*(snapshots.statistics(snapshots.manifest().version) or {}).values()]
    for document in documents:
        statistics = Statistics.from_json(document)
        found.costs.update({} if found.reports else statistics.costs)
        for name, answers in statistics.describe_calls().items():
            found.answers.setdefault(name, []).extend(answers)
    return found


def _row(operator: Operator, known: _OperatorStatistics) -> dict[str, Any]:
    report = known.reports.get(operator.name)
    return {
        "operator": operator.name,
        "signature": operator.signature,
        "description": operator.description,
        "declared_cost": operator.cost,
        "learned_cost": known.costs.get(operator.name),
        "calls": None if report is None else report.calls,
        "failures": None if report is None else report.failures,
        "lately": [] if report is None else report.to_dict()["lately"],
        "answers": known.answers.get(operator.name, []),
    }


def _answers_text(answers: list[dict[str, Any]]) -> str:
    """The results of calls in a few words: the fraction of TRUE, or the medians; ranges over several calls."""
    if not answers:
        return ""
    if all(set(each["quartiles"]) <= {"TRUE", "FALSE"} for each in answers):
        shares = [each["frequent"].get("TRUE", float("TRUE" in each["quartiles"])) for each in answers]
        least, most = f"{min(shares):.0%}", f"{max(shares):.0%}"
        return f"true {least}" if least == most else f"true {least} to {most}"
    quartiles = [each["quartiles"] for each in answers if each["quartiles"]]
    middles = [*dict.fromkeys(each[len(each) // 2] for each in quartiles)]
    more = ", ..." if len(middles) > _SHOWN else ""
    return f"about {', '.join(middles[:_SHOWN])}{more}" if middles else ""


def _print(rows: list[dict[str, Any]], *, known: bool) -> None:
    from tamis.cli.output import note, print_table
    from tamis.numerals import duration_text

    if not rows:
        note("tamis: there are no operators; load modules with --module, or parts of the library with --library")
        return

    def cell(value: float | None, text: Any) -> str:
        return "" if value is None else text(value)

    titles = ["signature", "cost", *(["learned", "calls", "failures", "gave"] if known else []), "description"]
    table = []
    for row in rows:
        counts = [cell(row[name], "{:,}".format) for name in ("calls", "failures")]
        learned = [cell(row["learned_cost"], duration_text), *counts, _answers_text(row["answers"])]
        cost = cell(row["declared_cost"], duration_text)
        table.append([row["signature"], cost, *(learned if known else []), row["description"]])
    print_table(titles, table)
