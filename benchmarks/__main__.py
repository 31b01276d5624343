"""`python -m benchmarks NAME [--quick] [--html FILE]`; without a name, the list of benchmarks."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import Report, Size, html, last_line


@dataclass(frozen=True, slots=True)
class Command:
    """A benchmark: how it is called, and what it does."""

    summary: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], Report]


def size_of(given: argparse.Namespace) -> Size:
    """As the options say."""
    return "smallest" if given.smallest else "quick" if given.quick else "full"


def _sizes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quick", action="store_true", help="fits in a minute, at a size that still means something"
    )
    parser.add_argument("--smallest", action="store_true", help="only shows that the benchmark works")


def _selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--family", action="append", default=[], metavar="F", help="a workload, or a case of it; may be repeated"
    )
    parser.add_argument("--size", type=int, metavar="N", help="subscriptions")
    parser.add_argument(
        "--batch", type=int, action="append", default=[], metavar="B", help="events of a batch; may be repeated"
    )


def _parse_arguments(parser: argparse.ArgumentParser) -> None:
    _sizes(parser)


def _match_arguments(parser: argparse.ArgumentParser) -> None:
    _sizes(parser)
    _selection(parser)


def _engines_arguments(parser: argparse.ArgumentParser) -> None:
    _sizes(parser)
    parser.add_argument(
        "--family", action="append", default=[], metavar="F", help="a workload, or a case of it; may be repeated"
    )
    parser.add_argument(
        "--size", type=int, action="append", default=[], metavar="N", help="subscriptions; may be repeated"
    )


def _routing_arguments(parser: argparse.ArgumentParser) -> None:
    _sizes(parser)
    parser.add_argument(
        "--part", action="append", default=[], metavar="P", help="only this experiment; may be repeated"
    )
    parser.add_argument(
        "--size",
        type=int,
        action="append",
        default=[],
        metavar="N",
        help="subscriptions of most parts; may be repeated",
    )


def _composite_arguments(parser: argparse.ArgumentParser) -> None:
    _sizes(parser)
    parser.add_argument(
        "--part", choices=("parts", "states"), default="parts", help="beside their parts, or states on Spark"
    )


def _start_arguments(parser: argparse.ArgumentParser) -> None:
    _sizes(parser)
    parser.add_argument(
        "--part",
        choices=("programs", "compile"),
        default="programs",
        help="whole programs, or what compiling each kernel takes",
    )


def _spark_arguments(parser: argparse.ArgumentParser) -> None:
    _sizes(parser)
    parser.add_argument("--size", type=int, metavar="N", help="subscriptions")
    parser.add_argument("--events", type=int, metavar="N", help="events")


def _sizing_arguments(parser: argparse.ArgumentParser) -> None:
    _sizes(parser)
    several: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument("--family", metavar="F", help="a workload; may be repeated", **several)
    parser.add_argument("--write", type=Path, metavar="FILE", help="keep the coefficients, for `tamis size`")
    parser.add_argument("--validate", type=int, metavar="N", help="subscriptions that are predicted and measured")


def _scale_arguments(parser: argparse.ArgumentParser) -> None:
    _sizes(parser)
    several: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument("--family", metavar="F", help="a workload; may be repeated", **several)
    parser.add_argument("--size", type=int, metavar="N", help="subscriptions; may be repeated", **several)
    parser.add_argument("--part", metavar="P", help="match, routed or changes; may be repeated", **several)
    parser.add_argument("--rate", type=float, metavar="N", help="changes a second")
    parser.add_argument("--seconds", type=float, metavar="N", help="for how long there are changes")


def _stream_arguments(parser: argparse.ArgumentParser) -> None:
    _sizes(parser)
    parser.add_argument(
        "--part",
        action="append",
        default=[],
        metavar="P",
        help="contest, idle, memory, routed or cluster; may be repeated; all but cluster by default",
    )


def _service_arguments(parser: argparse.ArgumentParser) -> None:
    _sizes(parser)
    parser.add_argument("--size", type=int, metavar="N", help="subscriptions")
    parser.add_argument("--rate", type=float, metavar="N", help="events that are due in a second")
    parser.add_argument("--seconds", type=float, metavar="N", help="for how long")


def _compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", metavar="REV1", help="any name of a commit that git knows")
    parser.add_argument("second", metavar="REV2", help="what is called faster or slower than the first")
    parser.add_argument("--benchmark", choices=("match", "parse"), default="match")
    parser.add_argument("--rounds", type=int, default=6, help="runs of each revision, besides one to warm up")
    parser.add_argument("--full", action="store_true", help="at full size; --quick is the default")
    parser.add_argument("--own", action="store_true", help="each revision with the benchmarks that it has itself")
    parser.add_argument("--all", action="store_true", help="list the figures that are noise, too")
    _sizes(parser)
    _selection(parser)


def _parse(given: argparse.Namespace) -> Report:
    from benchmarks import parse

    return parse.run(size_of(given))


def _read(given: argparse.Namespace) -> Report:
    from benchmarks import read

    return read.run(size_of(given))


def _match(given: argparse.Namespace) -> Report:
    from benchmarks import match

    return match.run(size_of(given), given.family, given.size, given.batch)


def _engines(given: argparse.Namespace) -> Report:
    from benchmarks import engines

    return engines.run(size_of(given), given.family, given.size)


def _schedule(given: argparse.Namespace) -> Report:
    from benchmarks import schedule

    return schedule.run(size_of(given))


def _operators(given: argparse.Namespace) -> Report:
    from benchmarks import operators

    return operators.run(size_of(given))


def _routing(given: argparse.Namespace) -> Report:
    from benchmarks import routing

    return routing.run(size_of(given), given.part, given.size)


def _spark(given: argparse.Namespace) -> Report:
    from benchmarks import spark

    return spark.run(size_of(given), given.size, given.events)


def _federation(given: argparse.Namespace) -> Report:
    from benchmarks import federation

    return federation.run(size_of(given))


def _service(given: argparse.Namespace) -> Report:
    from benchmarks import service

    return service.run(size_of(given), given.size, given.rate, given.seconds)


def _composite(given: argparse.Namespace) -> Report:
    if given.part == "states":
        from benchmarks import composite_states

        return composite_states.run(size_of(given))
    from benchmarks import composite

    return composite.run(size_of(given))


def _start(given: argparse.Namespace) -> Report:
    if given.part == "compile":
        from benchmarks import start_compile

        return start_compile.run(size_of(given))
    from benchmarks import start

    return start.run(size_of(given))


def _sizing(given: argparse.Namespace) -> Report:
    from benchmarks import sizing

    return sizing.run(size_of(given), given.family, given.write, given.validate)


def _scale(given: argparse.Namespace) -> Report:
    from benchmarks import scale

    return scale.run(size_of(given), given.family, given.size, given.rate, given.seconds, given.part)


def _stream(given: argparse.Namespace) -> Report:
    from benchmarks import stream

    return stream.run(size_of(given), given.part)


def _compare(given: argparse.Namespace) -> Report:
    size = "--smallest" if given.smallest else None if given.full else "--quick"
    options = [size] if size else []
    for name, values in (("--family", given.family), ("--batch", given.batch)):
        options += [part for value in values for part in (name, str(value))]
    if given.size is not None:
        options += ["--size", str(given.size)]
    from benchmarks import compare

    return compare.run(
        given.first,
        given.second,
        [given.benchmark, *options],
        rounds=given.rounds,
        own=given.own,
        everything=given.all,
    )


# A benchmark is imported when it runs: a revision that is compared may lack what another one measures.
COMMANDS: dict[str, Command] = {
    "parse": Command("from text to formula", _parse_arguments, _parse),
    "read": Command("from JSON to columns", _parse_arguments, _read),
    "match": Command("engines against each other", _match_arguments, _match),
    "engines": Command("engines on the workloads of the papers they come from", _engines_arguments, _engines),
    "schedule": Command("cheap events first, against arrival order", _parse_arguments, _schedule),
    "operators": Command("greedy against naive, with cheap and expensive calls", _parse_arguments, _operators),
    "routing": Command("broker networks: pruned, covered, with advertisements", _routing_arguments, _routing),
    "spark": Command("Spark against the engine alone and against plain Spark", _spark_arguments, _spark),
    "stream": Command("notifications written by workers and by the driver", _stream_arguments, _stream),
    "scale": Command("growing numbers of subscriptions, from Parquet to changes", _scale_arguments, _scale),
    "sizing": Command("coefficients for `tamis size`, and how well they predict", _sizing_arguments, _sizing),
    "service": Command("the service under load: rate, latency, nothing lost", _service_arguments, _service),
    "federation": Command("three linked services: deliveries, forwards, hops", _parse_arguments, _federation),
    "composite": Command("composite subscriptions beside their parts", _composite_arguments, _composite),
    "start": Command("from nothing to the first answer", _start_arguments, _start),
    "compare": Command("two revisions against each other", _compare_arguments, _compare),
}


def main(arguments: list[str] | None = None) -> int:
    """Run one benchmark; its last line is JSON. Exit 1 if a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    for name, command in COMMANDS.items():
        own = names.add_parser(name, help=command.summary)
        command.arguments(own)
        own.add_argument("--html", type=Path, metavar="FILE", help="write the figures as a page too")
        own.add_argument("--json", type=Path, metavar="FILE", help="write the last line to a file too")
    given = parser.parse_args(arguments)
    report = COMMANDS[given.name].run(given)
    line = last_line(report)
    if given.html is not None:
        given.html.write_text(html(report), "utf-8")
    if given.json is not None:
        given.json.write_text(line + "\n", "utf-8")
    print(line)
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
