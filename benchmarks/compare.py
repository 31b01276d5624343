"""Two revisions against each other: the same benchmark in both, taking turns, and a verdict for each figure.

Each revision is checked out into a folder of its own, and every run is a process of its own that imports `tamis`
from there; it refuses to go on otherwise. Both are measured with the benchmarks of this checkout, so that a
figure means the same for both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.report import Report, number, table
from benchmarks.verdict import FEWEST_RUNS, LARGEST_P, LEAST_CHANGE, Verdict, value_of, verdict

_HOME = Path(__file__).resolve().parents[1]
_CHANGES = ("faster", "slower", "smaller", "larger", "differs", "only one")
_QUIET = ("noise", "same")

_RUN = """
import sys
from pathlib import Path
import benchmarks, tamis
tree, ruler, *arguments = sys.argv[1:]
for module, home in ((tamis, Path(tree, "src")), (benchmarks, Path(ruler))):
    if not Path(module.__file__).resolve().is_relative_to(home.resolve()):
        sys.exit(f"{module.__name__} came from {module.__file__}, not from {home}")
from benchmarks.__main__ import main
sys.exit(main(arguments))
"""


def run(
    first: str,
    second: str,
    arguments: Sequence[str],
    *,
    rounds: int,
    own: bool = False,
    everything: bool = False,
    repository: Path | None = None,
) -> Report:
    """Run a benchmark in two revisions and compare its figures.

    Args:
        first: Name of a commit.
        second: Name of another.
        arguments: The benchmark's name and options.
        rounds: Runs of each.
        own: Use the benchmarks of each revision instead of those of this checkout.
        everything: Print the figures that are noise, too.
        repository: A folder within it; where the benchmark was started, by default.
    """
    root = Path(_git(repository or Path.cwd(), "rev-parse", "--show-toplevel"))
    commits = [_git(root, "rev-parse", "--verify", f"{name}^{{commit}}") for name in (first, second)]
    samples: tuple[dict[str, list[Any]], dict[str, list[Any]]] = ({}, {})
    if rounds < FEWEST_RUNS:
        print(f"{rounds} rounds are too few: with fewer than {FEWEST_RUNS} everything is noise", file=sys.stderr)
    with _checked_out(root, commits) as trees:
        for turn in range(-1, rounds):
            for which in (1, 0) if turn % 2 else (0, 1):
                _progress(turn, rounds, (first, second)[which])
                figures = _figures(trees[which], trees[which] if own else _HOME, arguments)
                if turn >= 0:  # the turn before compiled the kernels
                    for name, figure in figures.items():
                        samples[which].setdefault(name, []).append(figure)
    verdicts = _verdicts(*samples)
    _print(verdicts, first, second, everything=everything)
    outcome: dict[str, Any] = {"revisions": [commit[:9] for commit in commits], "arguments": list(arguments)}
    outcome["verdicts"] = dict(Counter(each.word for each in verdicts.values()))
    outcome |= {name: each.to_dict() for name, each in verdicts.items()}
    rows = [(name, each.word, *_cells(each)) for name, each in _ordered(verdicts)]
    drawing = f"<h2>{first} against {second}</h2>" + table(
        ("figure", "verdict", first, second, "times", "p"), rows
    )
    return Report("compare", outcome, drawings=(drawing,))


def _git(folder: Path, *arguments: str) -> str:
    outcome = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if outcome.returncode:
        msg = f"git {' '.join(arguments)}: {outcome.stderr.strip()}"
        raise SystemExit(msg)
    return outcome.stdout.strip()


@contextmanager
def _checked_out(root: Path, commits: Sequence[str]) -> Iterator[list[Path]]:
    """A work tree for each commit, taken away afterwards."""
    with tempfile.TemporaryDirectory(prefix="tamis-compare-") as folder:
        trees = [Path(folder).resolve() / name for name in ("first", "second")]
        try:
            for tree, commit in zip(trees, commits, strict=True):
                _git(root, "worktree", "add", "--quiet", "--detach", str(tree), commit)
            yield trees
        finally:
            for tree in trees:
                if tree.exists():
                    _git(root, "worktree", "remove", "--force", str(tree))


def _figures(tree: Path, ruler: Path, arguments: Sequence[str]) -> dict[str, Any]:
    """Run once; the figures of the last line."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PYTHONPATH"] = os.pathsep.join([str(tree / "src"), str(ruler)])
    command = [sys.executable, "-P", "-c", _RUN, str(tree), str(ruler), *arguments]
    outcome = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    lines = outcome.stdout.splitlines()
    try:
        report = json.loads(lines[-1])
        figures: dict[str, Any] = report["figures"]
    except (IndexError, ValueError, TypeError, KeyError):
        said = f"{outcome.stdout[-2000:]}\n{outcome.stderr[-4000:]}"
        msg = f"{' '.join(arguments)} gave no figures in {tree.name}:\n{said}"
        raise SystemExit(msg) from None
    return figures


def _verdicts(first: dict[str, list[Any]], second: dict[str, list[Any]]) -> dict[str, Verdict]:
    """Of every figure that is a number in some run."""
    found: dict[str, Verdict] = {}
    for name in dict.fromkeys([*first, *second]):
        one, other = (
            [value for figure in sample.get(name, []) if (value := value_of(figure)) is not None]
            for sample in (first, second)
        )
        if one or other:
            found[name] = verdict(name, one, other)
    return found


def _ordered(verdicts: dict[str, Verdict]) -> list[tuple[str, Verdict]]:
    """What changed first, the largest change before the others."""

    def place(item: tuple[str, Verdict]) -> tuple[int, float]:
        times = item[1].times or 1.0
        return [*_CHANGES, *_QUIET].index(item[1].word), -max(times, 1 / times)

    return sorted(verdicts.items(), key=place)


def _cells(each: Verdict) -> tuple[str, str, str, str]:
    values = ["-" if value is None else number(value) for value in (each.first, each.second)]
    times = "-" if each.times is None else f"{each.times:.3f}"
    return values[0], values[1], times, "-" if each.p is None else f"{each.p:.4f}"


def _print(verdicts: dict[str, Verdict], first: str, second: str, *, everything: bool) -> None:
    shown = [item for item in _ordered(verdicts) if everything or item[1].word not in _QUIET]
    width = max([len(name) for name, _ in shown], default=6)
    print(f"{'figure':{width}} {'verdict':9} {first[:12]:>12} {second[:12]:>12} {'times':>8} {'p':>8}")
    for name, each in shown:
        one, other, times, p = _cells(each)
        print(f"{name:{width}} {each.word:9} {one:>12} {other:>12} {times:>8} {p:>8}")
    counts = Counter(each.word for each in verdicts.values())
    listed = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    print(f"{len(verdicts)} figures: {listed} (p <= {LARGEST_P}, change of {LEAST_CHANGE:.0%} or more)")


def _progress(turn: int, rounds: int, revision: str) -> None:
    what = "warming up" if turn < 0 else f"round {turn + 1} of {rounds}"
    print(f"[{time.strftime('%H:%M:%S')}] {what}: {revision}", file=sys.stderr, flush=True)
