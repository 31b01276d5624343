"""`tamis generate`: seeded subscriptions and events, as files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tamis.cli.options import Json, Quiet

if TYPE_CHECKING:
    from tamis.cli.output import Screen
    from tamis.workloads import Family


def generate(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The workload; without it, all are listed.")
    ] = None,
    subscriptions: Annotated[
        int, typer.Option("--subscriptions", metavar="N", min=0, help="How many subscriptions.")
    ] = 10_000,
    events: Annotated[int, typer.Option("--events", metavar="N", min=0, help="How many events.")] = 1_024,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, help="The same seed gives the same files.")
    ] = 0,
    out: Annotated[
        str | None, typer.Option("--out", metavar="FOLDER", help="Where the files go; made if it is not there.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the workload; may be repeated."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Generate subscriptions and events to measure or test with.

    Writes conditions.jsonl, conditions.txt, events.jsonl, events.parquet, event_type.json and workload.json, which
    says how to make the same files again. Without a NAME, lists the workloads and their parameters.

    \b
    Examples:
      tamis generate
      tamis generate ranges --subscriptions 1000000 --out ranges --set width=0.1-0.5 --set kind=double
      tamis generate auction --seed 7 --events 100000 --out books --set operands=zipf

    Exit code 2 if there is no such workload or parameter, or a file cannot be written.
    """
    from tamis.cli.output import JsonLines, counted, fail, note, reported_errors
    from tamis.workloads import WORKLOADS, WorkloadError
    from tamis.workloads import generate as generated
    from tamis.workloads.files import manifest
    from tamis.workloads.parameters import read_parameters

    with reported_errors():
        if name is None:
            _list(json=json)
            return
        if name not in WORKLOADS:
            msg = f"there is no workload {name!r}; known are {', '.join(WORKLOADS)}"
            raise WorkloadError(msg)
        if out is None:
            fail("where should the files go? Say --out FOLDER")
        parameters = read_parameters(name, WORKLOADS[name].parameters, _pairs(settings or []))
        workload = generated(name, subscriptions=subscriptions, events=events, seed=seed, **parameters)
        workload.write(out)
        if json:
            JsonLines().write({**manifest(workload), "folder": out})
        if not quiet:
            sizes = f"{counted(subscriptions, 'subscription')} and {counted(events, 'event')}"
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
    from tamis.workloads import WORKLOADS
    from tamis.workloads.parameters import parameters_of, written

    lines, screen = JsonLines(), Screen()
    for number, family in enumerate(WORKLOADS.values()):
        if not json:
            _print(screen, family, first=number == 0)
            continue
        parameters = [
            {"name": key, "default": written(default), "expected": meaning.expected, "help": meaning.help}
            for key, (default, meaning) in parameters_of(family.parameters).items()
        ]
        lines.write({"name": family.name, "summary": family.summary, "parameters": parameters})


def _print(screen: Screen, family: Family, *, first: bool) -> None:
    from tamis.workloads.parameters import parameters_of, written

    known = parameters_of(family.parameters)
    names = max(map(len, known))
    defaults = max(len(written(default)) for default, _ in known.values())
    if not first:
        screen.say("")
    screen.say(f"{family.name}: {family.summary}", style="bold")
    for key, (default, meaning) in known.items():
        screen.say(f"  {key:{names}}  {written(default):{defaults}}  {meaning.help}")
