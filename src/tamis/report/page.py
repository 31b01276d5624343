"""The page of a run: headline figures, charts over time, subscriptions, an explained match, all batches.

The page stands alone: one file, no script, nothing to fetch, and a policy in its head that lets a browser fetch
and run nothing even so. It is readable on a telephone, on paper and in the dark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tamis.progress import TOP, BatchReport, Percentiles, Summary, busiest, duration_text, rate_text, share_text
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
.figures dd{margin:0;font-size:1.5rem;font-weight:650;line-height:1.25;font-variant-numeric:tabular-nums}
.figures small{display:block;font-size:.82rem;font-weight:400;color:var(--soft)}
.figures .alert dd{color:var(--no)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));gap:1rem}
.card{padding:1rem 1.1rem;min-width:0}.card h3{font-size:1rem;margin:0 0 .6rem}
.ranks{margin:0;padding:0;list-style:none;font-size:.88rem}
.ranks li{display:grid;grid-template-columns:minmax(0,1fr) minmax(4rem,45%) 4.2rem;gap:.7rem;align-items:center}
.ranks bdi{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.ranks i{display:block;height:.62rem;border-radius:3px;background:var(--c0)}
.ranks b{text-align:right;font-weight:600;font-variant-numeric:tabular-nums}
.condition{display:block;background:var(--ground);border-radius:8px;padding:.6rem .8rem;margin:.7rem 0 1rem;
white-space:pre-wrap}
.scroll{overflow-x:auto}
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


def page(
    reports: Sequence[BatchReport],
    *,
    title: str,
    output: str,
    explained: Explanation | None = None,
    matches: Mapping[str, int] | None = None,
    subscriptions: int | None = None,
    facts: Mapping[str, str] | None = None,
) -> str:
    """A run as an HTML page.

    Args:
        reports: Of its batches, each once.
        title: What ran.
        output: Where the notifications are.
        explained: A match, to be shown part by part.
        matches: How often each subscription matched; without it the page knows only the busiest of each batch.
        subscriptions: How many there are, for those that did not match.
        facts: What else to say about the run, by name.
    """
    summary = Summary.of(reports)
    ordered = sorted(reports, key=lambda report: report.at)
    parts = [
        _head(title, output, summary, facts or {}),
        _figures(summary),
        _section("Over time", _over_time(ordered, summary)),
        _section("Subscriptions", _subscriptions(summary, matches, subscriptions)),
        _section("Changes of subscriptions", _changes(ordered)),
        _section("Set aside", _set_aside(ordered, summary)),
        _explained(explained),
        _batches(ordered),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"/>'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        '<meta name="color-scheme" content="light dark"/>'
        f"<title>{escape(title)}</title><style>{charts.STYLE}{tree.STYLE}{_STYLE}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def _section(title: str, cards: Sequence[str]) -> str:
    cards = [card for card in cards if card]
    if not cards:
        return ""
    inner = "".join(f'<div class="card">{card}</div>' for card in cards)
    return f'<section><h2>{escape(title)}</h2><div class="cards">{inner}</div></section>'


def _head(title: str, output: str, summary: Summary, facts: Mapping[str, str]) -> str:
    about = "".join(f" · {escape(name)} {escape(value)}" for name, value in facts.items())
    batches = f"{summary.batches:,} micro-batch{'' if summary.batches == 1 else 'es'}"
    return (
        f'<header><h1>{escape(title)}</h1><p class="about">{batches} in '
        f"{duration_text(summary.seconds)} of work{about}</p>"
        f'<p class="about">Notifications are in <code>{escape(output)}</code></p></header>'
    )


def _figures(summary: Summary) -> str:
    per_match = summary.notifications / summary.matched_events if summary.matched_events else 0.0
    first, last = (summary.versions[0], summary.versions[-1]) if summary.versions else (0, 0)
    lag = "" if summary.lag_seconds is None else f"at most {duration_text(summary.lag_seconds)} behind"
    latency = summary.latency
    tiles = [
        ("events a second", rate_text(summary.events_per_second), f"{summary.events:,} events", ""),
        ("notifications", f"{summary.notifications:,}", f"{per_match:.2g} per matched event", ""),
        ("events matched", share_text(summary.matched_share), f"{summary.matched_events:,} events", ""),
        ("latency, median", duration_text(latency.p50), f"p99 {duration_text(latency.p99)} per micro-batch", ""),
        (
            "snapshot version",
            f"{last:,}",
            f"{len(summary.versions):,} seen since {first:,}; {lag}".rstrip("; "),
            "",
        ),
    ]
    if summary.dead:
        tiles.append(("dead letters", f"{summary.dead:,}", "events set aside", "alert"))
    if summary.overflow:
        tiles.append(("over quota", f"{summary.overflow:,}", "matches left out", "alert"))
    inner = "".join(
        f'<div class="{style}"><dt>{name}</dt><dd>{value}<small>{small}</small></dd></div>'
        for name, value, small, style in tiles
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
    """Values over the time of the batches; many batches are put together, so that a page stays small."""
    size = -(-len(reports) // _MOST_POINTS) or 1
    groups = [reports[start : start + size] for start in range(0, len(reports), size)]
    return [((group[0].at - reports[0].at).total_seconds(), value(group)) for group in groups]


def _subscriptions(summary: Summary, matches: Mapping[str, int] | None, subscriptions: int | None) -> list[str]:
    if matches is None:
        note = "Counted over the busiest subscriptions of each micro-batch, so each number is the least it can be."
        return [_ranks(summary.top, note)]
    matched = {subscription: count for subscription, count in matches.items() if count > 0}
    total = len(matches) if subscriptions is None else subscriptions
    sizes = Counter(1 << (count.bit_length() - 1) for count in matched.values())
    powers = [1 << power for power in range(max(sizes or [1]).bit_length())]
    groups = {tick_text(float(f"{least:.3g}")): {"": float(sizes[least])} for least in powers}
    if total > len(matched):
        groups = {"0": {"": float(total - len(matched))}, **groups}
    note = (
        f"{len(matched):,} of {total:,} subscriptions matched. A bar holds those with its number of matches or "
        "more, up to the next bar."
    )
    chart = bars("Matches per subscription", "subscriptions", groups, foot=0.5)
    return [chart and f'{chart}<p class="note">{note}</p>', _ranks(busiest(matched, TOP), "")]


def _ranks(top: Sequence[tuple[str, int]], note: str) -> str:
    if not top:
        return ""
    rows = "".join(
        f'<li><bdi title="{escape(name)}">{escape(name)}</bdi>'
        f'<i style="width:{max(1.0, 100 * count / top[0][1]):.1f}%"></i><b>{count:,}</b></li>'
        for name, count in top
    )
    below = f'<p class="note">{note}</p>' if note else ""
    return f'<h3>Most matches</h3><ol class="ranks">{rows}</ol>{below}'


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
        over_time("Over quota", "matches left out", lambda report: report.overflow) if summary.overflow else "",
        over_time("Repeated", "matches left out", lambda report: report.repeated) if summary.repeated else "",
    ]


def _explained(explained: Explanation | None) -> str:
    if explained is None:
        return ""
    return (
        '<section><h2>One match, explained</h2><div class="card">'
        f'<p class="about">{escape(explained.reason)}</p>'
        f'<code class="condition">{escape(explained.condition)}</code>'
        f"{tree.explanation_tree(explained)}</div></section>"
    )


def _batches(reports: Sequence[BatchReport]) -> str:
    if not reports:
        return ""
    heads = ("batch", "time", "seconds", "events", "matched", "notifications", "dead", "over quota", "version")
    rows = "".join(
        f"<tr>{''.join(f'<td>{cell}</td>' for cell in _cells(report))}</tr>" for report in reports[-_MOST_ROWS:]
    )
    which = f"The last {_MOST_ROWS:,} micro-batches" if len(reports) > _MOST_ROWS else "All micro-batches"
    return (
        f'<section><h2>Micro-batches</h2><div class="card"><details><summary>{which}</summary>'
        f'<div class="scroll"><table><thead><tr>{"".join(f"<th>{head}</th>" for head in heads)}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></details></div></section>"
    )


def _cells(report: BatchReport) -> tuple[str, ...]:
    return (
        f"{report.batch}",
        f"{report.at:%Y-%m-%d %H:%M:%S}",
        f"{report.seconds:.3f}",
        *(f"{number:,}" for number in (report.events, report.matched_events, report.notifications)),
        *(f"{number:,}" for number in (report.dead, report.overflow, report.version)),
    )
