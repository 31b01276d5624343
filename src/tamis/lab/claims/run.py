"""A run over rows: measures them one by one, keeps every result as soon as there is one, and goes on after a stop.

Results are one JSON file. It is replaced as a whole after each row, so that a killed run leaves all rows that were
done and no half of one.
"""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stderr
from math import isinf
from pathlib import Path
from typing import Any, TypeAlias

from tamis.errors import TamisError
from tamis.lab.claims.bench import Bench, Size
from tamis.lab.claims.row import Figure, Outcome, Row, UntestableError, all_of, figure
from tamis.lab.measuring.revision import revision

Record: TypeAlias = dict[str, Any]
"""The result of one row at one size with one seed, as it is in the file."""


class ResultsError(TamisError):
    """A file that does not hold results."""


class Results:
    """Results in a file, by row, size and seed."""

    def __init__(self, path: Path) -> None:
        """Open results.

        Raises:
            ResultsError: There is such a file, and it holds something else.
        """
        self._path = path
        self._records: dict[tuple[str, str, int], Record] = {}
        if path.exists():
            try:
                held = json.loads(path.read_text("utf-8"))["results"]
                self._records = {(each["id"], each["size"], each["seed"]): each for each in held}
            except (ValueError, KeyError, TypeError) as error:
                msg = f"{path} holds no results of claims"
                raise ResultsError(msg) from error

    def __contains__(self, key: tuple[str, str, int]) -> bool:
        return key in self._records

    def put(self, record: Record) -> None:
        """Keep a result, instead of an older one, and write the file."""
        self._records[record["id"], record["size"], record["seed"]] = record
        text = json.dumps({"results": [*self._records.values()]}, indent=1, ensure_ascii=False)
        beside = self._path.with_name(self._path.name + ".new")
        beside.write_text(text + "\n", "utf-8")
        os.replace(beside, self._path)

    def of(self, ids: Iterable[str], size: Size | None = None) -> dict[str, list[Record]]:
        """Results by row, one a seed; of one size, or of the greatest that each row has."""
        found: dict[str, list[Record]] = {}
        for id_ in ids:
            mine = [each for each in self._records.values() if each["id"] == id_]
            sizes = [each for each in ("full", "small", "smallest") if any(one["size"] == each for one in mine)]
            wanted = size or (sizes[0] if sizes else None)
            kept = [each for each in mine if each["size"] == wanted]
            if kept:
                found[id_] = sorted(kept, key=lambda each: int(each["seed"]))
        return found


def run_rows(
    rows: Sequence[Row],
    results: Results,
    *,
    size: Size,
    seeds: Sequence[int],
    resume: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    done: Callable[[Record, int], None] = lambda _, __: None,
) -> None:
    """Measure rows that have no result, or all of them.

    Args:
        rows: To be measured, in this order.
        results: Where results go.
        size: How much is measured.
        seeds: Each row is measured with each.
        resume: Are results that are there kept?
        progress: Reports what goes on inside a row.
        done: Is given each new result, and how many are left.
    """
    code = revision()
    ahead = [(row, seed) for seed in seeds for row in rows if not (resume and (row.id, size, seed) in results)]
    benches = {seed: Bench(size, seed, progress) for seed in seeds}
    for place, (row, seed) in enumerate(ahead):
        record = measure_row(row, benches[seed]) | {"revision": code}
        results.put(record)
        done(record, len(ahead) - place - 1)


def measure_row(row: Row, bench: Bench) -> Record:
    """The result of one row.

    Raises:
        SystemExit: Contestants do not agree on what they find.
    """
    bench.begin()
    begun = time.process_time()
    outcome: Outcome | None = None
    reason = ""
    try:
        # Some parts report on standard error by themselves.
        with redirect_stderr(_Lines(bench.progress)):
            outcome = row.measure(bench)
    except UntestableError as error:
        reason = str(error)
    except KeyError as error:
        if not bench.lab.left_out:
            raise
        reason = f"{error.args[0]} did not take part: {bench.left_out()}"
    return {
        "id": row.id,
        "size": bench.size,
        "seed": bench.seed,
        "seconds": round(time.process_time() - begun, 2),
        "direction": outcome.direction if outcome else "cannot be tested",
        "figure": outcome.agreement if outcome else "cannot be tested",
        "reason": reason,
        "note": "; ".join(each for each in (outcome.note if outcome else "", bench.left_out()) if each),
        "figures": [_as_json(each) for each in (outcome.figures if outcome else ())],
    }


class _Lines(io.TextIOBase):
    """A stream whose lines are reports."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress

    def write(self, text: str) -> int:
        if text.strip():
            self._progress(text.strip())
        return len(text)


def _as_json(given: Figure) -> dict[str, Any]:
    theirs = None if given.theirs is None else [None if isinf(each) else each for each in given.theirs]
    return {
        "what": given.what,
        "ours": [float(f"{each:.6g}") for each in given.ours],
        "theirs": theirs,
        "size": given.size,
        "agreement": given.agreement,
    }


def figure_of(given: dict[str, Any]) -> Figure:
    """A figure that was written."""
    theirs = given["theirs"]
    if theirs is not None:
        low, high = theirs
        theirs = (float("-inf") if low is None else low, float("inf") if high is None else high)
    return figure(given["what"], given["ours"], theirs, tuple(given["size"]) if given["size"] else None)


def verdicts(records: Sequence[Record]) -> tuple[str, str]:
    """The two verdicts over all seeds: a direction must hold with each; figures may agree with some only."""
    directions = [each["direction"] for each in records]
    figures = {each["figure"] for each in records}
    direction = directions[0] if len(set(directions)) == 1 else all_of(*directions)
    return direction, figures.pop() if len(figures) == 1 else "partly"
