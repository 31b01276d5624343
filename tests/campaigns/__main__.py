"""Campaigns: long attacks on what the guarantees promise, each one command with a report.

`python -m tests.campaigns NAME [--seed N] [--report FILE]`; without a name, the list of them. The exit code is 1
if anything was violated. Ctrl-C ends a campaign early, with a report. The test suite runs each at its smallest.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.campaigns.outcome import Outcome
from tests.servers import postgresql, spark_variables


@dataclass(frozen=True, slots=True)
class Command:
    """A campaign: how it is called, and what it does."""

    summary: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[Outcome, argparse.Namespace], None]


def _fuzz_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--texts", type=int, default=1_000_000, help="conditions and events (1,000,000)")
    parser.add_argument("--workers", type=int, default=2, help="processes (2)")


def _fuzz(outcome: Outcome, given: argparse.Namespace) -> None:
    from tests.campaigns import fuzz

    fuzz.run(outcome, texts=given.texts, workers=given.workers)


def _streams_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kills", type=int, default=1_000, help="in all")
    others = parser.add_mutually_exclusive_group()
    others.add_argument("--one-table", action="store_true", help="two drivers that write to one table")
    others.add_argument("--postgresql", action="store_true", help="tasks that load rows into a PostgreSQL")
    others.add_argument("--executors", action="store_true", help="executors that are processes, killed as well")
    _folder_argument(parser)


def _streams(outcome: Outcome, given: argparse.Namespace) -> None:
    from tests.campaigns import streams

    os.environ.update(spark_variables())
    with _folder(given) as folder:
        if given.one_table:
            streams.run_on_one_table(outcome, folder, kills=given.kills)
        elif given.postgresql:
            with postgresql() as url:
                streams.run_on_postgresql(outcome, folder, url, kills=given.kills)
        else:
            streams.run(outcome, folder, kills=given.kills, executors=given.executors)


def _service_arguments(parser: argparse.ArgumentParser) -> None:
    from tests.campaigns.service import BACKENDS

    parser.add_argument("--kills", type=int, default=300, help="on each back end")
    parser.add_argument("--rate", type=float, default=300.0, help="events published a second")
    parser.add_argument("--living", type=int, default=250, help="subscriptions at a time, about (250)")
    parser.add_argument("--backend", choices=BACKENDS, action="append", help="may be repeated; else all of them")
    _folder_argument(parser)


def _service(outcome: Outcome, given: argparse.Namespace) -> None:
    from tests.campaigns import service

    os.environ.update(spark_variables())
    with _folder(given) as folder:
        for name in given.backend or service.BACKENDS:
            part = Outcome(f"service on {name}", outcome.seed, stop=outcome.stop)
            try:
                (folder / name).mkdir()
                service.run(
                    part, folder / name, kills=given.kills, name=name, rate=given.rate, living=given.living
                )
            except AssertionError as error:
                outcome.violate(f"{name}: {error}")
            outcome.figures[name] = {**part.figures, "seconds": round(part.seconds, 1)}


def _federation_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kills", type=int, default=100, help="in all")
    parser.add_argument("--rate", type=float, default=100.0, help="events published a second at each site")
    _folder_argument(parser)


def _federation(outcome: Outcome, given: argparse.Namespace) -> None:
    from tests.campaigns import federation

    os.environ.update(spark_variables())
    with _folder(given) as folder:
        federation.run(outcome, folder, kills=given.kills, rate=given.rate)


def _soak_arguments(parser: argparse.ArgumentParser) -> None:
    from tests.campaigns.service import BACKENDS

    parser.add_argument("--minutes", type=float, default=120.0, help="how long")
    parser.add_argument("--rate", type=float, default=100.0, help="events published a second")
    parser.add_argument("--backend", choices=BACKENDS, default="sqlite", help="where events and matches are kept")
    _folder_argument(parser)


def _soak(outcome: Outcome, given: argparse.Namespace) -> None:
    from tests.campaigns import soak

    os.environ.update(spark_variables())
    with _folder(given) as folder:
        soak.run(outcome, folder, minutes=given.minutes, name=given.backend, rate=given.rate)


def _folder_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, help="work here, in an empty folder, and leave all as it is")


@contextmanager
def _folder(given: argparse.Namespace) -> Iterator[Path]:
    if given.folder is not None:
        given.folder.mkdir(parents=True, exist_ok=True)
        yield given.folder
        return
    with tempfile.TemporaryDirectory(prefix="tamis-campaign-") as folder:
        yield Path(folder)


COMMANDS = {
    "streams": Command(
        "kills of streams on a changing store; every pair is compared", _streams_arguments, _streams
    ),
    "service": Command("kills of the service under load; every pair is compared", _service_arguments, _service),
    "federation": Command(
        "kills of three linked services; every pair is compared", _federation_arguments, _federation
    ),
    "soak": Command("a service under load for hours; nothing may grow", _soak_arguments, _soak),
    "fuzz": Command("conditions and events that are nearly right, within bounds", _fuzz_arguments, _fuzz),
}


def _stop(outcome: Outcome) -> None:
    """Let a campaign come to its end; the second time, at once."""
    if outcome.stop.is_set():
        raise KeyboardInterrupt
    outcome.stop.set()
    outcome.say("it comes to its end; once more: at once")


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign; gives the exit code, 1 if anything was violated."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns", description=__doc__)
    parts = parser.add_subparsers(dest="name", metavar="NAME")
    for name, command in COMMANDS.items():
        part = parts.add_parser(name, help=command.summary, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
        part.add_argument("--seed", type=int, default=0, help="of everything that is random")
        part.add_argument("--report", type=Path, help="write JSON here, and the text beside it")
        command.arguments(part)
    given = parser.parse_args(arguments)
    if given.name is None:
        parser.print_help()
        return 0
    outcome = Outcome(given.name, given.seed)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: _stop(outcome))
    try:
        COMMANDS[given.name].run(outcome, given)
    except AssertionError as error:
        outcome.violate(str(error))
    sys.stdout.write(outcome.text())
    if given.report is not None:
        outcome.write(given.report)
    return 0 if outcome.ok else 1


if __name__ == "__main__":
    sys.exit(main())
