"""`python -m benchmarks NAME [--quick] [--html FILE]`; without a name, the list of benchmarks."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import parse
from benchmarks.report import Benchmark, Size, html, last_line

BENCHMARKS: dict[str, Benchmark] = {"parse": parse.run}


def main(arguments: list[str] | None = None) -> int:
    """Run one benchmark; its last line is JSON. Exit 1 if a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=sorted(BENCHMARKS))
    parser.add_argument(
        "--quick", action="store_true", help="fits in a minute, at a size that still means something"
    )
    parser.add_argument("--smallest", action="store_true", help="only shows that the benchmark works")
    parser.add_argument("--html", type=Path, help="write the figures as a page too")
    given = parser.parse_args(arguments)
    size: Size = "smallest" if given.smallest else "quick" if given.quick else "full"
    report = BENCHMARKS[given.name](size)
    if given.html is not None:
        given.html.write_text(html(report), "utf-8")
    print(last_line(report))
    return 0 if all(bar.ok for bar in report.bars.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
