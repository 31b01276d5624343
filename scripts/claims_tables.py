"""Write the tables and plots of verdicts in `docs/papers` from the results of `tamis lab claims`.

`python -m scripts.claims_tables` fails where a table or plot is not that of `docs/papers/claims.json`; `--write`
writes them. A plot has the verdicts on directions as one bar, and a line for each claim with figures: where our
figures stand beside those of the paper.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from scripts.plots import WIDTH, draw_text, picture
from tamis.lab.claims.page import markdown_table
from tamis.lab.claims.registry import PAPERS, ROWS
from tamis.lab.claims.row import Paper
from tamis.lab.claims.run import Record, Results, verdicts

PAGES = Path(__file__).resolve().parent.parent / "docs" / "papers"
RESULTS = PAGES / "claims.json"
BEGIN, END = "<!-- verdicts: written by scripts/claims_tables.py --write -->", "<!-- end of verdicts -->"

_DIRECTIONS = {"holds": "c2", "unclear": "c4", "fails": "c1", "none claimed": "other", "cannot be tested": "other"}
_AGREEMENTS = {"agrees": "c2", "differs": "c1", "not at this size": "other"}
_LEFT, _RIGHT, _LINE = 52, WIDTH - 24, 22
_TICKS = (0.1, 0.25, 0.5, 1, 2, 4, 10)


def outputs() -> dict[Path, str]:
    """What the pages of papers and their plots should be, by path."""
    results = Results(RESULTS).of(ROWS)
    found = {}
    for paper in PAPERS.values():
        path = PAGES / f"{paper.name}.md"
        before, begin, rest = path.read_text("utf-8").partition(BEGIN)
        _, end, after = rest.partition(END)
        if not begin or not end:
            msg = f"{path.name} has no place for a table: {BEGIN} ... {END}"
            raise SystemExit(msg)
        image = f"![Verdicts on the claims, and our figures by theirs]({paper.name}.svg)"
        found[path] = f"{before}{BEGIN}\n\n{image}\n\n{markdown_table(paper, results)}\n{END}{after}"
        found[path.with_suffix(".svg")] = plot(paper, results)
    return found


def plot(paper: Paper, results: Mapping[str, Sequence[Record]]) -> str:
    """The verdicts of a paper as a picture."""
    counts = Counter(verdicts(results[row])[0] for row in paper.rows if row in results)
    lines = {
        row: ratios
        for row in sorted(paper.rows, key=lambda id_: int(id_[1:]))
        if row in results and (ratios := _ratios(results[row]))
    }
    unit = (
        "Above: verdicts on directions. Below: our figures divided by theirs, from a tenth to ten times; the band "
        "is a quarter around theirs. Green agrees, orange differs, grey was measured at a smaller size."
    )
    return picture(
        f"{counts.total()} claims, measured",
        unit,
        lambda top: ([*_parts(counts, lines, top)], _foot(lines, top)),
    )


def _ratios(records: Sequence[Record]) -> list[tuple[float, str]]:
    """Our median by their figure, or by the nearer end of their range, and how the two agree."""
    found = []
    for figure in (each for record in records for each in record["figures"]):
        low, high = figure["theirs"] or (None, None)
        if low is None or high is None or low <= 0:
            continue
        ours = statistics.median(figure["ours"])
        found.append((ours / min(max(ours, low), high), figure["agreement"]))
    return found


def _x_of(ratio: float) -> float:
    """A place on the axis; what is beyond its ends is at the end."""
    kept = min(max(ratio, _TICKS[0]), _TICKS[-1])
    return _LEFT + (_RIGHT - _LEFT) * math.log(kept / _TICKS[0]) / math.log(_TICKS[-1] / _TICKS[0])


def _box(x: float, y: float, width: float, height: float, colour: str) -> str:
    size = f'width="{width:.1f}" height="{height:.0f}"'
    return f'<rect x="{x:.1f}" y="{y:.0f}" {size} rx="2" style="fill:var(--{colour})"/>'


def _foot(lines: Mapping[str, object], top: int) -> int:
    return top + 62 + (_LINE * len(lines) + 40 if lines else 0)


def _parts(counts: Counter[str], lines: Mapping[str, list[tuple[float, str]]], top: int) -> Iterator[str]:
    x, scale = 14.0, (WIDTH - 28) / counts.total()
    words, y = 14.0, top + 42
    for direction, colour in _DIRECTIONS.items():
        if not (count := counts[direction]):
            continue
        width = count * scale
        yield _box(x, top, width - 2, 22, colour)
        x += width
        word = f"{direction}: {count}"
        yield f'<circle cx="{words + 5:.0f}" cy="{y - 4}" r="5" style="fill:var(--{colour})"/>'
        yield draw_text(words + 14, y, word)
        words += 28 + 7 * len(word)
    if not lines:
        return
    first = top + 72
    last = first + _LINE * len(lines) - 8
    band = _x_of(0.75), _x_of(1.25)
    yield _box(band[0], first - 14, band[1] - band[0], last - first + 14, "line")
    for tick in _TICKS:
        yield f'<path class="grid" d="M{_x_of(tick):.0f} {first - 14}V{last}"/>'
        yield draw_text(_x_of(tick), last + 18, f"{tick:g}", "middle")
    for place, (row, ratios) in enumerate(lines.items()):
        y = first + _LINE * place
        yield draw_text(_LEFT - 10, y + 4, row, "head end")
        for ratio, agreement in ratios:
            colour = _AGREEMENTS.get(agreement, "other")
            yield f'<circle cx="{_x_of(ratio):.1f}" cy="{y}" r="5" style="fill:var(--{colour});fill-opacity:.75"/>'


def main(arguments: list[str]) -> int:
    """Compare, or write."""
    stale = {
        path: text for path, text in outputs().items() if not path.exists() or path.read_text("utf-8") != text
    }
    if "--write" in arguments:
        for path, text in stale.items():
            path.write_text(text, "utf-8")
        return 0
    for path in stale:
        print(f"{path.name} is not that of {RESULTS.name}; run python -m scripts.claims_tables --write")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
