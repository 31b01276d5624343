"""The plots and tables of `docs/benchmarks`, made from the same figures: `docs/benchmarks/data/*.json`.

`python scripts/plots.py` draws `docs/benchmarks/NAME.svg` for every `data/NAME.json` that has a plot, and writes
the table between `<!-- table: NAME -->` and `<!-- end of table -->` in every page that asks for it;
`<!-- table: NAME plotted -->` leaves out the columns that the plot does not draw. `--check` writes nothing and
fails if a plot or table is out of date.

A cell of the data is the text that the table shows. The plot takes the number that the text begins with, and a
note such as "at 200,000" behind it; any other cell ("not built", "20.8; 103") is not drawn.

A picture is 343 pixels wide on a phone of 375, so its letters are 9.3 pixels high there (`WIDTH` and
`LETTER_HEIGHT`). Wide screens show it `_NATURAL` pixels wide.
"""

from __future__ import annotations

import html
import json
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "benchmarks"

WIDTH, LETTER_HEIGHT = 480, 13
_NATURAL = 560
_MARGIN, _GAP = 14, 24
_BAR, _LINE, _LETTER = 20, 18, 7.2
"""The height of a bar with its space and of a line of text, and the mean width of a letter."""
STYLE = (
    "svg{--ground:#fff;--ink:#1c2430;--soft:#5b6675;--line:#e3e7ed;"
    "--c0:#2368b5;--c1:#d9692b;--c2:#2f8f6f;--c3:#8457b3;--c4:#b58a14;--other:#aeb8c6}"
    "@media(prefers-color-scheme:dark){svg{--ground:#1a2029;--ink:#e6eaf0;--soft:#9aa6b5;--line:#2c3542;"
    "--c0:#6aa9ef;--c1:#f0955c;--c2:#5cc39f;--c3:#b794e6;--c4:#e0bb52;--other:#566273}}"
    ".ground{fill:var(--ground)}text{font:13px system-ui,'DejaVu Sans',sans-serif;fill:var(--soft)}"
    ".title{font-size:15px;font-weight:600}.title,.head,.value{fill:var(--ink)}.head{font-weight:600}"
    ".end{text-anchor:end}.middle{text-anchor:middle}.grid{stroke:var(--line);fill:none}"
    ".curve{stroke-width:2;fill:none;stroke-linejoin:round}"
)
_TABLE = re.compile(
    r"(<!-- table: ([\w-]+)( plotted)? -->\n)(?:(?!<!-- table:).)*?(<!-- end of table -->)", re.DOTALL
)
_CELL = re.compile(r"\**(\d[\d,]*(?:\.\d+)?)\**(?: \([^)]*\))?( at \S+)?")


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure to draw: its value, how it is written, and what the plot says behind it."""

    value: float
    digits: str
    note: str


@dataclass(frozen=True, slots=True)
class Figures:
    """One data file.

    Attributes:
        name: Of the file, the plot and the table.
        columns: Headings of the table, that of the row names first.
        rows: Cells as the table shows them, the name of the row first.
        plot: How it is drawn: title, unit, `kind` ("bars" or "lines"), and the options of that kind; None for a
            table without a plot.
    """

    name: str
    columns: list[str]
    rows: list[list[str]]
    plot: dict[str, Any] | None

    def table(self, *, plotted: bool = False) -> str:
        """The table in Markdown, between blank lines; all columns, or those that the plot draws."""
        drawn = self.plot["columns"] if plotted and self.plot else self.columns
        kept = [place for place, name in enumerate(self.columns) if place == 0 or name in drawn]
        lines = [[row[place] for place in kept] for row in (self.columns, ["---"] * len(self.columns), *self.rows)]
        return "\n".join(["", *("|" + "|".join(_padded(line)) + "|" for line in lines), "\n"])

    def svg(self) -> str:
        """The plot."""
        assert self.plot is not None
        draw = _lines if self.plot["kind"] == "lines" else _bars
        return picture(self.plot["title"], self.plot["unit"], lambda top: draw(self, self.plot or {}, top))


def size_of(height: int) -> str:
    """The attributes of an SVG that say how large it is."""
    return f'viewBox="0 0 {WIDTH} {height}" width="{_NATURAL}" height="{height * _NATURAL // WIDTH}"'


def picture(title: str, unit: str, draw: Callable[[int], tuple[list[str], int]]) -> str:
    """An SVG with a title and what is measured; `draw` gives the parts below a height, and where they end."""
    heading = [
        *((line, "title") for line in textwrap.wrap(title, int((WIDTH - 2 * _MARGIN) / (1.2 * _LETTER)))),
        *((line, "") for line in textwrap.wrap(unit, int((WIDTH - 2 * _MARGIN) / _LETTER))),
    ]
    parts, height = draw(28 + _LINE * len(heading))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size_of(height)} role="img">',
            f"<title>{html.escape(title)}</title>",
            f"<desc>{html.escape(unit)}. The page has the figures as a table.</desc>",
            f"<style>{STYLE}</style>",
            f'<rect class="ground" width="{WIDTH}" height="{height}" rx="8"/>',
            *(draw_text(_MARGIN, 28 + _LINE * place, line, kind) for place, (line, kind) in enumerate(heading)),
            *parts,
            "</svg>\n",
        ]
    )


def read(path: Path) -> Figures:
    """Read a data file; every row has a cell for every column."""
    content = json.loads(path.read_text("utf-8"))
    columns, rows = content["columns"], content["rows"]
    wrong = [row[0] for row in rows if len(row) != len(columns)]
    if wrong:
        problem = f"{path.name}: {len(columns)} columns, but other numbers of cells in {wrong}"
        raise ValueError(problem)
    return Figures(path.stem, columns, rows, content.get("plot"))


def cell(text: str) -> Cell | None:
    """What to draw for a cell of a table.

    >>> cell("15.1 (12.8-15.9)")
    Cell(value=15.1, digits='15.1', note='')
    >>> cell("39,025 at 200,000")
    Cell(value=39025.0, digits='39,025', note=' at 200,000')
    >>> cell("not built")
    """
    found = _CELL.fullmatch(text)
    return Cell(float(found[1].replace(",", "")), found[1], found[2] or "") if found else None


def _padded(cells: Sequence[str]) -> Iterator[str]:
    for text in cells:
        yield text if text == "---" else f" {text} " if text else " "


def _plain(text: str) -> str:
    return text.replace("`", "")


def draw_text(x: float, y: float, text: str, kind: str = "") -> str:
    """A text of an SVG; `kind` names classes of the style."""
    attribute = f' class="{kind}"' if kind else ""
    return f'<text{attribute} x="{x:.0f}" y="{y:.0f}">{html.escape(text)}</text>'


def _groups(figures: Figures, plot: dict[str, Any]) -> Iterator[tuple[str, list[tuple[str, Cell]]]]:
    """The bars: a group a row with a bar for each drawn column, or the other way round (`by` is "columns")."""
    drawn = [place for place, name in enumerate(figures.columns) if place and name in plot["columns"]]
    if plot.get("by") == "columns":
        for place in drawn:
            named = [(_plain(row[0]), cell(row[place])) for row in figures.rows]
            yield figures.columns[place], [(name, found) for name, found in named if found]
        return
    for row in figures.rows:
        named = [(figures.columns[place], cell(row[place])) for place in drawn]
        yield _plain(row[0]), [(name, found) for name, found in named if found]


def _bars(figures: Figures, plot: dict[str, Any], top: int) -> tuple[list[str], int]:
    """Groups of horizontal bars, side by side in `across` panels; logarithmic from 1 unless `scale` is "own".

    Names stand beside their bars, or above them where they are long.
    """
    groups = list(_groups(figures, plot))
    across = plot.get("across", 1)
    panel = (WIDTH - 2 * _MARGIN - (across - 1) * _GAP) / across
    labels = max(len(name) for _, bars in groups for name, _ in bars) * _LETTER + 8
    above = _LINE if labels > panel * 0.45 else 0
    values = max(len(found.digits + found.note) for _, bars in groups for _, found in bars) * _LETTER
    zero_of_panel = 0 if above else labels
    room = panel - zero_of_panel - values - 8
    step = _BAR + above
    decades = math.ceil(max(math.log10(found.value) for _, bars in groups for _, found in bars))
    every = math.ceil(len(f"{10**decades:,}") * _LETTER / (room / decades))
    is_own = plot.get("scale") == "own"
    parts: list[str] = []
    for start in range(0, len(groups), across):
        row = groups[start : start + across]
        tall = max(len(bars) for _, bars in row) * step
        for place, (group, bars) in enumerate(row):
            left = _MARGIN + place * (panel + _GAP)
            zero = left + zero_of_panel
            parts.append(draw_text(left, top + 14, group, "head"))
            for decade in range(0, 0 if is_own else decades + 1, every):
                x = zero + room * decade / decades
                parts.append(f'<path class="grid" d="M{x:.0f} {top + 22}V{top + 24 + tall}"/>')
                parts.append(draw_text(x, top + 38 + tall, f"{10**decade:,}", "middle"))
            for number, (name, found) in enumerate(bars):
                y = top + 24 + number * step + above
                largest = max(other.value for _, other in bars)
                share = found.value / largest if is_own else math.log10(found.value) / decades
                colour = "c0" if any(name.startswith(ours) for ours in plot["ours"]) else "other"
                width = max(share * room, 1)
                parts += [
                    draw_text(zero, y - 4, name) if above else draw_text(zero - 6, y + 13, name, "end"),
                    f'<rect x="{zero:.0f}" y="{y + 2}" width="{width:.1f}" height="{_BAR - 5}" rx="2" '
                    f'style="fill:var(--{colour})"/>',
                    draw_text(zero + width + 5, y + 13, found.digits + found.note, "value"),
                ]
        top += tall + (34 if is_own else 50)
    return parts, top + 8


def _lines(figures: Figures, plot: dict[str, Any], top: int) -> tuple[list[str], int]:
    """A curve for each row over the drawn columns, whose headings are numbers; both axes logarithmic."""
    drawn = [place for place, name in enumerate(figures.columns) if place and name in plot["columns"]]
    sizes = [float(figures.columns[place].replace(",", "")) for place in drawn]
    curves = {_plain(row[0]): [cell(row[place]) for place in drawn] for row in figures.rows}
    curves = {name: cells for name, cells in curves.items() if all(cells)}
    values = [found.value for cells in curves.values() for found in cells if found]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    left, right = _MARGIN + 54, WIDTH - _MARGIN - max(map(len, curves)) * _LETTER - 8
    bottom = top + 280

    def x_of(size: float) -> float:
        return left + 8 + (right - left - 8) * math.log(size / sizes[0]) / math.log(sizes[-1] / sizes[0])

    def y_of(value: float) -> float:
        return bottom - (bottom - top) * (math.log10(value) - low) / (high - low)

    parts = []
    for decade in range(low, high + 1):
        y = y_of(10**decade)
        parts += [
            f'<path class="grid" d="M{left} {y:.0f}H{right:.0f}"/>',
            draw_text(left - 6, y + 4, f"{10**decade:,}", "end"),
        ]
    parts += [draw_text(x_of(size), bottom + 20, _short(size), "middle") for size in sizes]
    parts.append(draw_text((left + right) / 2, bottom + 40, plot["axis"], "middle"))
    labels: list[tuple[float, str, int]] = []
    for number, (name, cells) in enumerate(curves.items()):
        places = [(x_of(size), y_of(found.value)) for size, found in zip(sizes, cells, strict=True) if found]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline class="curve" style="stroke:var(--c{number % 5})" points="{path}"/>')
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" style="fill:var(--c{number % 5})"/>' for x, y in places
        ]
        labels.append((places[-1][1], name, number))
    lowest = math.inf
    for y, name, number in sorted(labels, reverse=True):
        lowest = min(y + 4, lowest - _LINE + 3)
        colour = f"fill:var(--c{number % 5})"
        parts.append(f'<text x="{right + 8:.0f}" y="{lowest:.0f}" style="{colour}">{html.escape(name)}</text>')
    return parts, bottom + 54


def _short(size: float) -> str:
    """A number for an axis.

    >>> _short(300_000), _short(2_000_000), _short(50)
    ('300k', '2M', '50')
    """
    return next((f"{size / unit:g}{name}" for unit, name in ((1e6, "M"), (1e3, "k")) if size >= unit), f"{size:g}")


def outputs(pages: Path) -> Iterator[tuple[Path, str]]:
    """Every plot, and every page with a table, as they should be."""
    known = {path.stem: read(path) for path in sorted((pages / "data").glob("*.json"))}
    for name, figures in known.items():
        if figures.plot is not None:
            yield pages / f"{name}.svg", figures.svg()
    for page in sorted(pages.glob("*.md")):
        text = page.read_text("utf-8")
        if "<!-- table:" in text:
            yield page, _TABLE.sub(lambda found: _filled(found, known), text)


def _filled(found: re.Match[str], known: dict[str, Figures]) -> str:
    return f"{found[1]}{known[found[2]].table(plotted=found[3] is not None)}{found[4]}"


def main(arguments: Sequence[str], pages: Path = PAGES) -> int:
    """Write what is out of date, or with `--check` name it and fail."""
    stale = [(path, text) for path, text in outputs(pages) if not path.exists() or path.read_text("utf-8") != text]
    checking = "--check" in arguments
    for path, text in stale:
        if checking:
            print(f"{path.relative_to(pages)} is out of date: python scripts/plots.py", file=sys.stderr)
        else:
            path.write_text(text, "utf-8")
            print(path.relative_to(pages))
    return 1 if checking and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
