"""The report of a run as an HTML page: metrics, charts over time, subscriptions, an explained match, batches.

The page is self-contained: one file without scripts or external resources, and with a content security policy that
forbids both. It has styles for small screens, print and dark mode.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tamis.numerals import duration_text, number_text, share_text
from tamis.progress import (
    TOP,
    BatchReport,
    Percentiles,
    RunFailure,
    Summary,
    busiest,
)
from tamis.report import charts, tree
from tamis.report.charts import bars, timeline
from tamis.report.markup import escape
from tamis.report.scales import tick_text

if TYPE_CHECKING:
    from tamis.explain import Explanation

_MOST_POINTS = 240
_MOST_ROWS = 200

_STYLE = """
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:78rem;margin:0 auto;padding:2rem 1.25rem 3rem}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .3rem;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:2.2rem 0 .8rem}
.about,.note{color:var(--soft);margin:0;overflow-wrap:anywhere}.note{font-size:.88rem;margin-top:.6rem}
code{font:.92em ui-monospace,monospace;overflow-wrap:anywhere}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.8rem;margin:1.6rem 0 0}
.figures div,.card{background:var(--card);border:1px solid var(--line);border-radius:12px}
.figures div{padding:.8rem 1rem}.figures dt{color:var(--soft);font-size:.85rem}
.figures dd{margin:0;font-size:1.35rem;font-weight:650;line-height:1.25;font-variant-numeric:tabular-nums}
.figures small{display:block;font-size:.82rem;font-weight:400;color:var(--soft)}
.figures .alert dd,.failure strong{color:var(--no)}.failure{margin-top:1.6rem;border-color:var(--no)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));gap:1rem}
.card{padding:1rem 1.1rem;min-width:0}.card h3{font-size:1rem;margin:0 0 .6rem}
.ranks{margin:0;padding:0;list-style:none;font-size:.88rem}
.ranks li{display:grid;grid-template-columns:minmax(0,1fr) minmax(4rem,45%) 4.2rem;gap:.7rem;align-items:center}
.ranks bdi{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.ranks i{display:block;height:.62rem;border-radius:3px;background:var(--c0)}
.ranks code{grid-column:1/-1;color:var(--soft);margin:-.2rem 0 .45rem}
.ranks b{text-align:right;font-weight:600;font-variant-numeric:tabular-nums}
.condition{display:block;background:var(--ground);border-radius:8px;padding:.6rem .8rem;margin:.7rem 0 1rem;
white-space:pre-wrap}
.scroll{overflow-x:auto}
.rows{display:grid;grid-template-columns:auto 1fr;gap:.3rem 1.2rem;margin:0;font-size:.92rem}
.rows dt{color:var(--soft)}.rows dd{margin:0;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
table{border-collapse:collapse;font-size:.86rem;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .7rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--soft);font-weight:500}
summary{cursor:pointer;font-weight:600}
@media(max-width:34rem){main{padding:1.2rem .8rem 2rem}.figures{grid-template-columns:1fr 1fr;gap:.6rem}
.figures dd{font-size:1.25rem}.card{padding:.8rem}
.ranks li{grid-template-columns:minmax(0,1fr) 28% 3.6rem}}
@media print{body{background:none}.card,.figures div{break-inside:avoid}}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class Figure(NamedTuple):
    """A number in the row below the heading.

    Attributes:
        name: What it is.
        value: The number, as people read it.
        note: What belongs to it, in small print.
        style: "alert" if something is wrong.
    """

    name: str
    value: str
    note: str
    style: str = ""


def page(
    reports: Sequence[BatchReport],
    *,
    title: str,
    output: str,
    explained: Explanation | None = None,
    matches: Mapping[str, int] | None = None,
    subscriptions: int | None = None,
    facts: Mapping[str, str] | None = None,
    failure: RunFailure | None = None,
    warm_up: Sequence[BatchReport] = (),
    conditions: Mapping[str, str] | None = None,
    event: Mapping[str, Any] | None = None,
    figures: Sequence[Figure] = (),
    tables: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """A run as an HTML page.

    Args:
        reports: One report per batch; all numbers and charts are of these.
        title: The heading of the page.
        output: Where the notifications are.
        explained: A match to explain part by part.
        matches: Number of matches by subscription; without it the page shows only the busiest of each batch.
        subscriptions: Number of all subscriptions that ever existed, to count those that did not match.
        facts: Other facts about the run, by name.
        failure: Where and why the run failed, if it did.
        warm_up: Reports of batches before these, which are shown apart.
        conditions: Of the busiest subscriptions, by id.
        event: The event of the match that is explained.
        figures: Other numbers for the row below the heading.
        tables: Other facts by name, in tables with headings.
    """
    summary = Summary.of(reports)
    headline = escape(title) if failure is None else f"{escape(title)}: failed"
    ordered = sorted(reports, key=lambda report: report.at)
    parts = [
        _head(title, output, summary, facts or {}, warm_up),
        _failure(failure),
        _figures(summary, figures) if reports else "" if failure else _IDLE,
        _section("The run", [_table(name, rows) for name, rows in (tables or {}).items()]),
        _section("Over time", _over_time(ordered, summary) if reports else []),
        _section("Subscriptions", _subscriptions(summary, matches, subscriptions, conditions or {})),
        _section("Changes of subscriptions", _changes(ordered)),
        _section("Set aside", _set_aside(ordered, summary)),
        _explanation_section(explained, event),
        _batches(warm_up, ordered),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"/>'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        '<meta name="color-scheme" content="light dark"/>'
        f"<title>{headline}</title><style>{charts.STYLE}{tree.STYLE}{_STYLE}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def _section(title: str, cards: Sequence[str]) -> str:
    cards = [card for card in cards if card]
    if not cards:
        return ""
    inner = "".join(f'<div class="card">{card}</div>' for card in cards)
    return f'<section><h2>{escape(title)}</h2><div class="cards">{inner}</div></section>'


def _table(title: str, rows: Mapping[str, str]) -> str:
    cells = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows.items())
    return f'<h3>{escape(title)}</h3><dl class="rows">{cells}</dl>'


def _head(
    title: str, output: str, summary: Summary, facts: Mapping[str, str], warm_up: Sequence[BatchReport]
) -> str:
    about = "".join(f" · {escape(name)} {escape(value)}" for name, value in facts.items())
    return (
        f'<header><h1>{escape(title)}</h1><p class="about">{_work(summary)}{about}</p>{_warm_up(warm_up)}'
        f'<p class="about">Notifications are in <code>{escape(output)}</code></p></header>'
    )


def _work(summary: Summary) -> str:
    batches = f"{summary.batches:,} micro-batch{'' if summary.batches == 1 else 'es'}"
    return f"{batches}, {duration_text(summary.seconds)} of processing, without what Spark does between batches"


def _warm_up(reports: Sequence[BatchReport]) -> str:
    if not reports:
        return ""
    summary = Summary.of(reports)
    return f'<p class="about">Left out of all times, as warm-up: {_work(summary)}, {summary.events:,} events</p>'


def _failure(failure: RunFailure | None) -> str:
    if failure is None:
        return ""
    return (
        f'<div class="card failure" role="alert"><strong>This run failed {escape(failure.place)}.</strong>'
        f'<code class="condition">{escape(failure.reason)}</code></div>'
    )


_IDLE = '<p class="note">No new events. Those that an earlier run matched are not matched again.</p>'


def _figures(summary: Summary, more: Sequence[Figure]) -> str:
    first, last = (summary.versions[0], summary.versions[-1]) if summary.versions else (0, 0)
    latency = summary.latency
    rate = number_text(summary.median_events_per_second)
    each = f"{number_text(summary.notifications_per_match)} per matched event"
    versions = f"version {last:,} used" if first == last else f"versions {first:,} to {last:,} used"
    if summary.lag_seconds is not None:
        lag = duration_text(summary.lag_seconds)
        versions += f"; at most {lag} behind the store" if summary.lag_seconds else "; never behind the store"
    tiles = [
        Figure("events per second", rate, f"median of micro-batches; {summary.events:,} events"),
        Figure("notifications", f"{summary.notifications:,}", each),
        Figure("events matched", share_text(summary.matched_share), f"{summary.matched_events:,} events"),
        Figure("latency, median", duration_text(latency.p50), f"p99 {duration_text(latency.p99)} per micro-batch"),
        Figure("snapshot version", f"{last:,}", versions),
        *more,
    ]
    if summary.dead:
        tiles.append(Figure("dead letters", f"{summary.dead:,}", "events set aside", "alert"))
    if summary.misfits:
        note = "events with a value that does not fit, NULL to conditions"
        tiles.append(Figure("misfits", f"{summary.misfits:,}", note, "alert"))
    if summary.set_aside:
        tiles.append(Figure("subscriptions set aside", f"{summary.set_aside:,}", "not matched", "alert"))
    if summary.overflow:
        tiles.append(Figure("over quota", f"{summary.overflow:,}", "matches left out", "alert"))
    inner = "".join(
        f'<div class="{escape(style)}"><dt>{escape(name)}</dt>'
        f"<dd>{escape(value)}<small>{escape(note)}</small></dd></div>"
        for name, value, note, style in tiles
    )
    return f'<dl class="figures">{inner}</dl>'


def _over_time(reports: Sequence[BatchReport], summary: Summary) -> list[str]:
    def rate(of: Callable[[BatchReport], int]) -> Callable[[Sequence[BatchReport]], float]:
        return lambda group: sum(map(of, group)) / (sum(report.seconds for report in group) or 1.0)

    def median(of: Callable[[BatchReport], float]) -> Callable[[Sequence[BatchReport]], float]:
        return lambda group: Percentiles.of(map(of, group)).p50

    latency = {
        "batch": _points(reports, median(lambda report: report.seconds)),
        "matching": _points(reports, median(lambda report: report.match_seconds)),
        "commit": _points(reports, median(lambda report: report.commit_seconds)),
    }
    if len(reports) > _MOST_POINTS:
        latency["slowest"] = _points(reports, lambda group: max(report.seconds for report in group))
    matched = {
        "notifications": _points(reports, rate(lambda report: report.notifications)),
        "events matched": _points(reports, rate(lambda report: report.matched_events)),
    }
    known = [report for report in reports if report.backlog is not None]
    seconds = summary.latency
    marks = {"p50": seconds.p50, "p90": seconds.p90, "p99": seconds.p99}
    named = ", ".join(f"{name} {duration_text(value)}" for name, value in {**marks, "most": seconds.most}.items())
    return [
        timeline("Throughput", "events/s", {"throughput": _points(reports, rate(lambda report: report.events))}),
        timeline(
            "Backlog",
            "events waiting",
            {"backlog": _points(known, lambda group: max(report.backlog or 0 for report in group))},
            whole=True,
        ),
        timeline("Matches", "per second", matched),
        timeline("Latency per micro-batch", "seconds", latency, marks=marks) + f'<p class="note">{named}</p>',
    ]


def _points(
    reports: Sequence[BatchReport], value: Callable[[Sequence[BatchReport]], float]
) -> list[tuple[float, float]]:
    """Values over time; groups of batches share a point, so that a page stays small."""
    size = -(-len(reports) // _MOST_POINTS) or 1
    groups = [reports[start : start + size] for start in range(0, len(reports), size)]
    return [((group[0].at - reports[0].at).total_seconds(), value(group)) for group in groups]


def _subscriptions(
    summary: Summary, matches: Mapping[str, int] | None, subscriptions: int | None, conditions: Mapping[str, str]
) -> list[str]:
    if matches is None:
        note = "Counted over the busiest subscriptions of each micro-batch, so each number is the least it can be."
        return [_ranks(summary.top, note, conditions=conditions)]
    matched = {subscription: count for subscription, count in matches.items() if count > 0}
    total = len(matches) if subscriptions is None else subscriptions
    sizes = Counter(1 << (count.bit_length() - 1) for count in matched.values())
    powers = [1 << power for power in range(max(sizes or [1]).bit_length())]
    groups = {tick_text(float(f"{least:.3g}")): {"": float(sizes[least])} for least in powers}
    if total > len(matched):
        groups = {"0": {"": float(total - len(matched))}, **groups}
    ever = "" if subscriptions is None else " that ever existed"
    share = share_text(len(matched) / total if total else 0.0)
    note = (
        f"{len(matched):,} of {total:,} subscriptions{ever} matched ({share}). "
        "A bar holds those with its number of matches or more, up to the next bar."
    )
    chart = bars("Matches per subscription", "subscriptions", groups, foot=0.5)
    return [
        chart and f'{chart}<p class="note">{note}</p>',
        _ranks(busiest(matched, TOP), "", conditions=conditions),
    ]


def _ranks(
    top: Sequence[tuple[str, int]],
    note: str,
    title: str = "Most matches",
    conditions: Mapping[str, str] | None = None,
) -> str:
    if not top:
        return ""
    below_each = {name: f"<code>{escape(condition)}</code>" for name, condition in (conditions or {}).items()}
    rows = "".join(
        f'<li><bdi title="{escape(name)}">{escape(name)}</bdi>'
        f'<i style="width:{max(1.0, 100 * count / top[0][1]):.1f}%"></i><b>{count:,}</b>'
        f"{below_each.get(name, '')}</li>"
        for name, count in top
    )
    below = f'<p class="note">{note}</p>' if note else ""
    return f'<h3>{title}</h3><ol class="ranks">{rows}</ol>{below}'


def _changes(reports: Sequence[BatchReport]) -> list[str]:
    versions = _points(reports, lambda group: group[-1].version)
    stored = [report for report in reports if report.lag_seconds is not None]
    lags = _points(stored, lambda group: max(report.lag_seconds or 0.0 for report in group))
    return [
        timeline(
            "Snapshot version",
            "per micro-batch",
            {"version": versions},
            shape="steps",
            whole=True,
            from_zero=False,
        ),
        timeline("Lag behind the store", "seconds", {"lag": lags}),
    ]


def _set_aside(reports: Sequence[BatchReport], summary: Summary) -> list[str]:
    def over_time(title: str, unit: str, of: Callable[[BatchReport], int]) -> str:
        points = _points(reports, lambda group: sum(map(of, group)))
        return timeline(title, unit, {title: points}, whole=True, shape="spikes")

    return [
        over_time("Dead letters", "events", lambda report: report.dead) if summary.dead else "",
        _ranks(summary.dead_by_kind, "", "Dead letters by reason"),
        over_time("Misfits", "events", lambda report: report.misfits) if summary.misfits else "",
        over_time("Over quota", "matches left out", lambda report: report.overflow) if summary.overflow else "",
        over_time("Repeated", "matches left out", lambda report: report.repeated) if summary.repeated else "",
    ]


def _explanation_section(explained: Explanation | None, event: Mapping[str, Any] | None) -> str:
    if explained is None:
        return ""
    shown = "" if event is None else json.dumps(dict(event), ensure_ascii=False, default=str)
    sample = f'<h3>Event</h3><code class="condition">{escape(shown)}</code><h3>Condition</h3>' if shown else ""
    return (
        '<section><h2>One match, explained</h2><div class="card">'
        f'<p class="about">{escape(explained.reason)}</p>'
        f'{sample}<code class="condition">{escape(explained.condition)}</code>'
        f"{tree.explanation_tree(explained)}</div></section>"
    )


def _batches(warm_up: Sequence[BatchReport], measured: Sequence[BatchReport]) -> str:
    reports = [*warm_up, *measured]
    if not reports:
        return ""
    heads = (
        "batch",
        "time (UTC)",
        "seconds",
        "events",
        "matched",
        "notifications",
        "dead",
        "over quota",
        "version",
    )
    rows = "".join(
        f"<tr>{''.join(f'<td>{cell}</td>' for cell in _cells(report, is_warm_up=place < len(warm_up)))}</tr>"
        for place, report in list(enumerate(reports))[-_MOST_ROWS:]
    )
    which = f"The last {_MOST_ROWS:,} micro-batches" if len(reports) > _MOST_ROWS else "All micro-batches"
    return (
        f'<section><h2>Micro-batches</h2><div class="card"><details><summary>{which}</summary>'
        '<div class="scroll" tabindex="0" role="group"><table>'
        f"<thead><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div></details></div></section>"
    )


def _cells(report: BatchReport, *, is_warm_up: bool) -> tuple[str, ...]:
    return (
        f"{report.batch}, warm-up" if is_warm_up else f"{report.batch}",
        f"{report.at:%Y-%m-%d %H:%M:%S}",
        f"{report.seconds:.3f}",
        *(f"{number:,}" for number in (report.events, report.matched_events, report.notifications)),
        *(f"{number:,}" for number in (report.dead, report.overflow, report.version)),
    )
