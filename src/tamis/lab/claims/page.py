"""Results for people: a page in HTML, and the table of verdicts of a paper's page in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tamis.lab.claims.registry import PAPERS
from tamis.lab.claims.row import Paper, Row
from tamis.lab.claims.run import Record, figure_of, verdicts
from tamis.report import charts
from tamis.report.markup import escape

_MOST_FIGURES = 3
_STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:80rem;padding:0 1rem;color:var(--ink);"
    "background:var(--card)}table{border-collapse:collapse;width:100%}"
    "td,th{padding:.4em .7em;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}"
    "small,.soft{color:var(--soft)}ul{margin:0;padding-left:1.1em}.holds,.agrees{color:var(--c2)}"
    ".fails,.differs{color:var(--c1)}"
)
_READING = (
    "In the last column a / b is a ratio of measured values; numbers in parentheses are the minimum and "
    "maximum of the rounds."
)
_HEADS = ("", "claim", "direction", "figure", "measured here, and the paper's")


def html_page(results: Mapping[str, Sequence[Record]]) -> str:
    """A page of its own, without scripts: a chart of verdicts, and a table a paper."""
    parts = []
    groups: dict[str, dict[str, float]] = {}
    for paper in PAPERS.values():
        rows = [row for row in _ordered(paper) if row.id in results]
        if rows:
            counts = Counter(verdicts(results[row.id])[0] for row in rows)
            groups[paper.name] = {name: float(count) for name, count in sorted(counts.items())}
            heads = "".join(f"<th>{each}" for each in _HEADS)
            body = "".join(_html_row(row, results[row.id]) for row in rows)
            parts.append(f'<h2 id="{paper.name}">{escape(paper.title)}</h2><table><tr>{heads}{body}</table>')
    known = [each for several in results.values() for each in several]
    about = f"size {_values(known, 'size')}, revision {_values(known, 'revision')}"
    chart = charts.bars("verdicts on directions", "rows", groups, foot=0.5) if groups else ""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>tamis: claims of five papers</title>'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f"<style>{charts.STYLE}{_STYLE}</style><h1>Claims of five papers, measured</h1>"
        f'<p class="soft">{len(results)} rows; {escape(about)}. Direction: holds in every round and with every '
        "seed. Figure: within a quarter of theirs, or inside their range. Clocks are given as median (least-"
        f"greatest) of the rounds.</p>{chart}{''.join(parts)}</html>"
    )


def _values(records: Sequence[Record], name: str) -> str:
    return ", ".join(sorted({str(each[name]) for each in records}))


def _ordered(paper: Paper) -> list[Row]:
    """Rows by number."""
    return sorted(paper.rows.values(), key=lambda row: int(row.id[1:]))


def _html_row(row: Row, records: Sequence[Record]) -> str:
    direction, agreement = verdicts(records)
    items = ""
    for record in records:
        seed = f" <small>seed {record['seed']}</small>" if len(records) > 1 else ""
        items += "".join(f"<li>{escape(figure_of(each))}{seed}</li>" for each in record["figures"])
    told = [each for record in records for each in (record["reason"], record["note"]) if each]
    notes = "; ".join(dict.fromkeys(told))
    contradiction = f"<br><small>contradicts {escape(row.contradicts)}</small>" if row.contradicts else ""
    return (
        f"<tr><td><b>{row.id}</b><br><small>{escape(row.where)}</small></td>"
        f"<td>{escape(row.claim)} <i>{escape(row.theirs)}</i>"
        f"<br><small>{escape(row.workload)}; {escape(row.counted)}</small>{contradiction}</td>"
        f'<td class="{direction}">{escape(direction)}</td><td class="{agreement}">{escape(agreement)}</td>'
        f"<td><ul>{items}</ul><small>{escape(notes)}</small></td></tr>"
    )


def markdown_table(paper: Paper, results: Mapping[str, Sequence[Record]]) -> str:
    """The verdicts of a paper, a row each, with the first figures that have one of theirs beside them."""
    rows = [row for row in _ordered(paper) if row.id in results]
    known = [each for row in rows for each in results[row.id]]
    if not known:
        return "No results yet.\n"
    command = f"tamis lab claims --paper {paper.name} --size {_values(known, 'size')}"
    lines = [
        f"`{command}`: seed {_values(known, 'seed')}, revision {_values(known, 'revision')}. {_READING}",
        "",
        "| | claim of the paper | its figure | direction | figure | measured here |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        counted = f"*{row.counted}*: " if results[row.id][0]["figures"] else ""
        cells = (row.id, row.claim, row.theirs, *verdicts(results[row.id]), counted + _ours(results[row.id]))
        lines.append(f"| {' | '.join(each.replace('|', '/') for each in cells)} |")
    return "\n".join(lines) + "\n"


def _ours(records: Sequence[Record]) -> str:
    """The figures that say most, those that have one of theirs first, and the note; or why there are none."""
    first = records[0]
    figures = [figure_of(each) for each in first["figures"]]
    chosen = sorted(figures, key=lambda each: each.theirs is None)[:_MOST_FIGURES]
    told = "; ".join(str(each) for each in figures if each in chosen)
    more = len(figures) - len(chosen)
    if not told:
        return str(first["reason"] or first["note"])
    return told + (f"; {more} more" if more else "") + (f". *Note:* {first['note']}" if first["note"] else "")
