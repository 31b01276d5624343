"""`tamis generate`: seeded subscriptions and events, as files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tamis.cli.options import Json, Quiet

if TYPE_CHECKING:
    from tamis.cli.output import Screen
    from tamis.lab.workloads import Family


def generate(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The workload; without it, all workloads are listed.")
    ] = None,
    subscriptions: Annotated[
        int, typer.Option("--subscriptions", metavar="N", min=0, help="Number of subscriptions.")
    ] = 10_000,
    events: Annotated[int, typer.Option("--events", metavar="N", min=0, help="Number of events.")] = 1_024,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="The same seed gives the same files.")
    ] = 0,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FOLDER", help="The folder for the files; it is created if needed."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the workload; may be repeated."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Generate subscriptions and events for measurements and tests.

    Writes conditions.jsonl, conditions.txt, events.jsonl, events.parquet, event_type.json and workload.json, which
    records how to generate the same files again. Without a NAME, lists the workloads and their parameters.

    \b
    Examples:
      tamis generate
      tamis generate ranges --subscriptions 1000000 --out ranges --set width=0.1-0.5 --set kind=double
      tamis generate auction --seed 7 --events 100000 --out books --set operands=zipf

    Exit code 2 if there is no such workload or parameter, or a file cannot be written.
    """
    from tamis.cli.output import JsonLines, count_text, fail, note, printing_errors
    from tamis.lab.workloads import WORKLOADS, WorkloadError
    from tamis.lab.workloads import generate as generated
    from tamis.lab.workloads.files import manifest
    from tamis.lab.workloads.parameters import read_parameters

    with printing_errors():
        if name is None:
            _list(json=json)
            return
        if name not in WORKLOADS:
            msg = f"there is no workload {name!r}; known are {', '.join(WORKLOADS)}"
            raise WorkloadError(msg)
        if out is None:
            fail("--out FOLDER is missing")
        parameters = read_parameters(name, WORKLOADS[name].parameters, _pairs(settings or []))
        workload = generated(name, subscriptions=subscriptions, events=events, seed=seed, **parameters)
        workload.write(out)
        if json:
            JsonLines().write({**manifest(workload), "folder": out})
        if not quiet:
            sizes = f"{count_text(subscriptions, 'subscription')} and {count_text(events, 'event')}"
            note(f"tamis: {sizes} of {name}, seed {seed}, in {out}")


def _pairs(settings: list[str]) -> dict[str, str]:
    from tamis.cli.output import fail

    pairs = {}
    for setting in settings:
        key, sign, value = setting.partition("=")
        if not sign:
            fail(f"--set {setting}: expected KEY=VALUE")
        if key in pairs:
            fail(f"--set {setting}: {key} is set twice")
        pairs[key] = value
    return pairs


def _list(*, json: bool) -> None:
    from tamis.cli.output import JsonLines, Screen
    from tamis.lab.workloads import WORKLOADS
    from tamis.lab.workloads.parameters import format_value, parameters_of

    lines, screen = JsonLines(), Screen()
    for number, family in enumerate(WORKLOADS.values()):
        if not json:
            _print(screen, family, first=number == 0)
            continue
        parameters = [
            {"name": key, "default": format_value(default), "expected": meaning.expected, "help": meaning.help}
            for key, (default, meaning) in parameters_of(family.parameters).items()
        ]
        lines.write({"name": family.name, "summary": family.summary, "parameters": parameters})


def _print(screen: Screen, family: Family, *, first: bool) -> None:
    from tamis.lab.workloads.parameters import format_value, parameters_of

    known = parameters_of(family.parameters)
    names = max(map(len, known))
    defaults = max(len(format_value(default)) for default, _ in known.values())
    if not first:
        screen.say("")
    screen.say(f"{family.name}: {family.summary}", style="bold")
    for key, (default, meaning) in known.items():
        screen.say(f"  {key:{names}}  {format_value(default):{defaults}}  {meaning.help}")
