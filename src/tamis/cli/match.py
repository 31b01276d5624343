"""`tamis match`: the pairs of an event and a subscription that it satisfies.

Events are matched in batches, and pairs are written as they are found. Refused subscriptions and malformed events
are reported and do not stop the others.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.cli.options import (
    Dialect,
    EventId,
    EventsFile,
    EventsFormat,
    EventTypeFile,
    Operators,
    Quiet,
    SubscriptionsFile,
    warn_as_json,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.arrays import Mask
    from tamis.cli.output import JsonLines
    from tamis.cli.subscriptions import SubscriptionEntry
    from tamis.errors import TamisError
    from tamis.events.batch import EventBatch
    from tamis.events.dead_letters import DeadLetter
    from tamis.events.misfits import OnMisfit
    from tamis.matcher import Matcher

_SHOWN_DEAD_LETTERS = 100
_LINES_AT_ONCE = 1 << 16


def match(
    subscriptions: SubscriptionsFile,
    events: EventsFile,
    event_type: EventTypeFile = None,
    operators: Operators = None,
    event_id: EventId = None,
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            metavar="NAME[:KEY=VALUE,...]",
            help="The engine, such as buckets:capacity=100; all engines find the same pairs.",
        ),
    ] = "auto",
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The file for the pairs; - for standard output.")
    ] = "-",
    format: EventsFormat = None,
    batch_rows: Annotated[
        int,
        typer.Option(
            "--batch-rows",
            min=1,
            metavar="N",
            help="Events matched at a time; with 1, each line is answered at once.",
        ),
    ] = 65_536,
    schedule: Annotated[
        str,
        typer.Option(
            "--schedule",
            metavar="NAME",
            help="The order of events in a batch: arrival, or shortest-first, by estimated work.",
        ),
    ] = "arrival",
    on_misfit: Annotated[
        str,
        typer.Option(
            "--on-misfit",
            metavar="WHAT",
            help="What to do with an event that does not fit its type: null, match it with NULL there and count "
            "it; dead-letter, report it and do not match it; refuse, an error.",
        ),
    ] = "null",
    unknown: Annotated[
        bool,
        typer.Option(
            "--unknown",
            help="Also count the events for which each condition is NULL: an error in CESQL and CEL. Slow.",
        ),
    ] = False,
    call_order: Annotated[
        str,
        typer.Option(
            "--call-order", metavar="NAME", help="Which call of an operator is made next; see operators."
        ),
    ] = "greedy",
    dialect: Dialect = "sql",
    json: Annotated[
        bool,
        typer.Option("--json", help="Write reports on standard error as JSON, too.", callback=warn_as_json),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Find every pair of an event and a subscription that it satisfies.

    Writes JSON lines: {"event_id": ..., "subscription_id": ...}.

    \b
    Examples:
      tamis match --subscriptions cameras.jsonl --events events.jsonl --event-type camera.json
      tamis match --subscriptions rules.txt --dialect eventbridge --events events.jsonl
      tail -f log.jsonl | tamis match --subscriptions alerts.txt --events - --batch-rows 1
      tamis match --subscriptions s.parquet --events e.parquet --event-id order -o pairs.jsonl

    Exit code 0 if all subscriptions are valid, 1 if some were refused (the others are matched), 2 if nothing could
    be matched, or an event was refused. Dead letters and misfits are counted; they do not change the exit code.
    """
    from tamis.cli.inputs import EventNames, check_sources, load_event_type, open_events, source_name
    from tamis.cli.output import JsonLines, fail, note, open_output, printing_errors, steps
    from tamis.cli.subscriptions import read_subscriptions
    from tamis.events.misfits import check_on_misfit
    from tamis.language.dialects import has_state
    from tamis.matcher import Matcher
    from tamis.schedule.scheduler import check_schedule
    from tamis.urls import is_store

    start = time.perf_counter()
    with printing_errors():
        check_sources(subscriptions, events)
        type_ = load_event_type(event_type, subscriptions)
        try:
            matcher = Matcher(type_, engine, call_order=call_order)
            check_schedule(schedule)
            misfits = check_on_misfit(on_misfit.replace("-", " "))
        except ValueError as error:
            fail(str(error))
        reading = open_events(events, type_, format, batch_rows=batch_rows)
        report = _MatchReport(JsonLines(sys.stderr.buffer) if json else None, source_name(events))
        named = event_type is not None or is_store(subscriptions)
        name = type_.name if named else None
        found = read_subscriptions(subscriptions, event_type=name, dialect=dialect)
        entries = [entry for entry in found if not entry.is_paused]
        if is_composite := sum(has_state(entry.dialect) for entry in entries):
            note(f"tamis: warning: {is_composite} composite subscriptions are never satisfied here: use tamis run")
            entries = [entry for entry in entries if not has_state(entry.dialect)]
        report.refusals(_register(matcher, entries), len(entries))
        names = EventNames.of(event_id, type_)
        with (
            open_output(output) as out,
            steps(shown=output != "-" and not quiet and not json) as step,
        ):
            for batch in reading:
                report.dead_letters(reading.dead_letters)
                report.totals.events += batch.rows
                event_names = names.of_rows(batch)
                good = report.misfits(batch, event_names, misfits)
                report.totals.pairs += _answer(out, matcher, batch, event_names, good, schedule)
                if unknown:
                    report.unknown(matcher.count_unknown(batch))
                step(f"{report.totals.events:,} events, {report.totals.pairs:,} pairs")
                if out.closed:
                    break
        report.dead_letters(reading.dead_letters)
        if event_id is not None and not names.found and report.totals.events:
            note(f"tamis: warning: no event has the attribute {event_id!r}; events are named by row number")
        report.totals.seconds = round(time.perf_counter() - start, 3)
        if unknown:
            report.tell_unknown()
        if not quiet and not out.closed:
            report.summary()
    raise typer.Exit(1 if report.totals.refused else 0)


def _register(
    matcher: Matcher, entries: list[SubscriptionEntry]
) -> Iterator[tuple[SubscriptionEntry, TamisError | None]]:
    """Add the valid entries; yields the others, with the error if the condition is refused."""
    from tamis.segments.records import Subscription

    good = {entry.id: entry for entry in entries if not entry.problems}
    given = (
        Subscription(each.id, each.condition, each.priority, each.owner, dialect=each.dialect)
        for each in good.values()
    )
    errors = {refusal.id: refusal.error for refusal in matcher.add_many(given)}
    for entry in entries:
        if entry.problems:
            yield entry, None
        elif entry.id in errors:
            yield entry, errors[entry.id]


def _answer(
    out: JsonLines,
    matcher: Matcher,
    batch: EventBatch,
    event_names: list[int | str],
    good: Mask,
    schedule: str,
) -> int:
    """Write the pairs of the good events of a batch, in their order or as they are found; returns their number."""
    if schedule == "arrival":
        return _write_pairs(out, matcher.match_batch(batch), batch, event_names, good)
    written = 0
    for ready in matcher.match_parts(batch, schedule="shortest-first"):
        written += _write_pairs(out, ready.pairs, batch, event_names, good)
        if out.closed:
            break
    return written


def _write_pairs(
    out: JsonLines, pairs: pa.Table, batch: EventBatch, event_names: list[int | str], good: Mask
) -> int:
    """Write some pairs of a batch; returns their number."""
    import numpy as np
    import pyarrow as pa

    from tamis.cli.output import as_json

    # The ids of a batch are its ascending row numbers, so a binary search finds the rows.
    rows = np.searchsorted(batch.ids.to_numpy(), pairs["event_id"].to_numpy())
    if not good.all():
        kept = good[rows]
        rows, pairs = rows[kept], pairs.filter(pa.array(kept))
    encoded = pairs["subscription_id"].combine_chunks().dictionary_encode()
    ends = [b', "subscription_id": ' + as_json(id) + b"}\n" for id in encoded.dictionary.to_pylist()]
    starts = {int(row): b'{"event_id": ' + as_json(event_names[row]) for row in np.unique(rows)}
    places = encoded.indices.to_numpy()
    for first in range(0, len(rows), _LINES_AT_ONCE):
        part = slice(first, first + _LINES_AT_ONCE)
        chosen = zip(rows[part].tolist(), places[part].tolist(), strict=True)
        out.write_bytes(b"".join([starts[row] + ends[place] for row, place in chosen]))
    out.flush()
    return len(rows)


@dataclass(slots=True)
class _MatchTotals:
    events: int = 0
    pairs: int = 0
    subscriptions: int = 0
    refused: int = 0
    dead_letters: int = 0
    misfits: int = 0
    seconds: float = 0.0


class _MatchReport:
    """The report on standard error, as text or as JSON."""

    def __init__(self, json: JsonLines | None, events: str) -> None:
        self.totals = _MatchTotals()
        self.json = json
        self.events = events
        self.unknown_counts: dict[str, int] = {}

    def unknown(self, counts: dict[str, int]) -> None:
        """Add up for how many events each condition was unknown."""
        for id, count in counts.items():
            self.unknown_counts[id] = self.unknown_counts.get(id, 0) + count

    def tell_unknown(self) -> None:
        """Report these counts, the greatest first."""
        from tamis.cli.output import count_text, note

        for id, count in sorted(self.unknown_counts.items(), key=lambda each: -each[1]):
            if self.json is not None:
                self.json.write({"kind": "unknown", "subscription_id": id, "events": count})
            else:
                note(f"{id}: unknown for {count_text(count, 'event')}")

    def refusals(self, refused: Iterator[tuple[SubscriptionEntry, TamisError | None]], given: int) -> None:
        """Report the refused subscriptions with all of their problems."""
        from tamis.cli.problems import report_refusal

        for entry, error in refused:
            self.totals.refused += 1
            report_refusal(entry, error, self.json)
        self.totals.subscriptions = given - self.totals.refused

    def dead_letters(self, letters: list[DeadLetter]) -> None:
        """Report the dead letters, and clear the list."""
        for each in letters:
            where = {"file": self.events, "line": each.line_number}
            self._dead_letter(where, f"{self.events}:{each.line_number}", each.reason)
        letters.clear()

    def misfits(self, batch: EventBatch, names: list[int | str], on_misfit: OnMisfit) -> Mask:
        """Count or report the events that do not fit their type; gives those that are matched.

        Raises:
            MisfitError: There is one, and such events are refused.
        """
        from tamis.events.misfits import misfit_rows, reasons_of, refuse_misfits

        found = misfit_rows(batch)
        if on_misfit == "null":
            self.totals.misfits += int(found.sum())
            return found | True
        if on_misfit == "refuse":
            refuse_misfits(batch, names, found)
        for row, reason in reasons_of(batch, found):
            where = {"file": self.events, "event_id": names[row]}
            self._dead_letter(where, f"{self.events}: event {names[row]}", reason)
        return ~found

    def _dead_letter(self, where: dict[str, Any], place: str, reason: str) -> None:
        from tamis.cli.output import note

        self.totals.dead_letters += 1
        if self.json is not None:
            self.json.write({"kind": "dead-letter", **where, "reason": reason})
        elif self.totals.dead_letters <= _SHOWN_DEAD_LETTERS:
            note(f"{place}: dead letter: {reason}")
        elif self.totals.dead_letters == _SHOWN_DEAD_LETTERS + 1:
            note("tamis: further dead letters are only counted")

    def summary(self) -> None:
        """Write one line, or one JSON record, with the totals."""
        from tamis.cli.output import count_text, note

        totals = self.totals
        if self.json is not None:
            self.json.write({"kind": "summary", **asdict(totals)})
            return
        refused = f" ({totals.refused} refused)" if totals.refused else ""
        asides = [count_text(totals.dead_letters, "dead letter")] if totals.dead_letters else []
        if totals.misfits:
            asides.append(f"{totals.misfits} with a value that does not fit")
        aside = f" ({', '.join(asides)})" if asides else ""
        note(
            f"tamis: {count_text(totals.events, 'event')}{aside}, "
            f"{count_text(totals.subscriptions, 'subscription')}{refused}, "
            f"{count_text(totals.pairs, 'pair')} in {totals.seconds:.2f} s"
        )
