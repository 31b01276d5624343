"""Wide tables: events of hundreds of attributes, of which each has few, as Arrow and as JSON lines.

An Arrow table has a column for every attribute, nearly all NULL; a line of JSON names only what is there. Time is
that of the whole way, from the table or the bytes to pairs.
"""

from __future__ import annotations

import json
from statistics import median

import pyarrow as pa

from benchmarks.families import Scale
from benchmarks.report import Bar, Figures, spread
from tamis import Matcher
from tamis.events.reading import read_json_lines
from tamis.lab.measuring.cases import PAST_EVENTS, Data
from tamis.lab.measuring.timing import Times

_CALLS = 8
"""Batches of a round, at most."""


def measure_wide_tables(label: str, data: Data, scale: Scale, figures: Figures, bars: dict[str, Bar]) -> None:
    """Arrow against JSON of the same events, in batches of every size; pairs are compared first."""
    matcher = Matcher(data.workload.event_type, "bitslice", statistics=data.statistics)
    matcher.add_many(pa.table({"id": data.workload.ids, "condition": data.workload.conditions}))
    matcher.merge()
    for rows in scale.batches:
        starts = range(0, data.events - rows + 1, rows)[:_CALLS]
        tables = [data.workload.events.slice(PAST_EVENTS + start, rows).combine_chunks() for start in starts]
        lines = [_json_lines(table) for table in tables]
        found = (_match_arrow(matcher, tables[0]), _match_json(matcher, lines[0]))
        if found[0] != found[1]:
            msg = f"{label}: {found[0]} pairs of Arrow, {found[1]} of JSON"
            raise SystemExit(msg)
        times = {"Arrow": Times(), "JSON": Times()}
        for _ in range(scale.rounds):
            with times["Arrow"].taken():
                for table in tables:
                    _match_arrow(matcher, table)
            with times["JSON"].taken():
                for text in lines:
                    _match_json(matcher, text)
        for source, each in times.items():
            figures[f"{label}, batch {rows}: from {source}, us/event"] = spread(
                [seconds / (rows * len(tables)) * 1e6 for seconds in each.cpu]
            )
        ratios = [one / other for one, other in zip(times["Arrow"].cpu, times["JSON"].cpu, strict=True)]
        title = f"{label}, batch {rows}: Arrow against JSON, ratio"
        figures[title] = spread(ratios)
        bars[title] = Bar(round(median(ratios), 3), 1.0, at_most=True)
        print(f"{title}: {figures[title]}")


def _json_lines(table: pa.Table) -> bytes:
    events = ({name: value for name, value in event.items() if value is not None} for event in table.to_pylist())
    return b"".join(json.dumps(event, default=str).encode() + b"\n" for event in events)


def _match_arrow(matcher: Matcher, table: pa.Table) -> int:
    return len(matcher.match_batch(table, sort=None))


def _match_json(matcher: Matcher, lines: bytes) -> int:
    batches = read_json_lines(lines, matcher.event_type)
    return sum(matcher.match_batch(batch, sort=None).num_rows for batch in batches)
