"""What is open of composite subscriptions on Spark: a file for each partition of the state and each batch.

A row for each event and composite subscription comes by the hash of subscription and key (`composite_events.py`)
to one of a fixed number of partitions. A `StateTask` reads what its partition has open after the batch before,
lets the events come in the order of their times, and writes what is open then to a new file, which nobody reads
before the driver names it. So the state is a function of the events, the pinned version and the state before,
and a batch that is done again gives the same. Events of equal time have the order of their ids, since nobody
knows in which order they arrived. What belongs to no subscription of the pinned version, or to another revision,
is forgotten.

The watermark is the same in all partitions: each task that matches tells each of them its greatest time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import I64
from tamis.composite.event_store import EventStore
from tamis.composite.explain import CompositeExplanation, explain_state
from tamis.composite.key_numbers import KeyNumbers
from tamis.composite.key_steps import BEGUN, PARTS, WAITS
from tamis.composite.matcher import group_of
from tamis.composite.open_matches import KEY_BITS, Completions, OpenMatches, Rows
from tamis.composite.parts import CompiledComposite
from tamis.composite.saved import decode_value
from tamis.composite.search import KeptEvent
from tamis.errors import SubscriptionError, WriteError
from tamis.language.dialects import has_state
from tamis.matchers import Matchers
from tamis.notifications import json_object
from tamis.quotas import QuotaState
from tamis.segments.records import Subscription
from tamis.sinks.base import BatchKey, TaskWriter
from tamis.snapshot.storage import open_storage
from tamis.spark.composite_events import CompositePlan, compiled
from tamis.spark.stream_task import (
    COUNTED,
    FOUND,
    PAIR,
    PAIRS,
    REACHED,
    STATE,
    TAKEN,
    record_rows,
    result_rows,
    unwritten_rows,
)
from tamis.spark.write_task import attempt_of, make_notifications, part_rows

_KEPT, _EARLY, _SEEN = -1, -2, -3
"""In the column `match` of a state, which has the first events of matches in wait: the event is in none; the
watermark has not reached it; it is only known again."""
_SHARD = 1 << 33
"""The first number of a shard that is neither one of the subscriptions' nor of a quota's."""
_KEY = (1 << KEY_BITS) - 1
_EXPLAINED_TRIES = 10_000
"""Events that are tried to explain one key."""
_STATE = pa.schema(
    [
        ("event_type", pa.dictionary(pa.int32(), pa.string())),
        ("subscription_id", pa.dictionary(pa.int32(), pa.string())),
        ("revision", pa.int64()),
        ("key", pa.dictionary(pa.int32(), pa.string())),
        ("time_us", pa.int64()),
        ("number", pa.int64()),
        ("parts", pa.int64()),
        ("match", pa.int64()),
        ("begun", pa.bool_()),
        ("event_id", pa.string()),
        ("attributes", pa.string()),
    ]
)


# --- what is open of a partition -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StateTask:
    """Lets the events of a batch come to the keys of one partition.

    Attributes:
        plan: Where the state is.
        batch: Which batch this is.
        keep: Attributes that notifications carry along.
        writer: The sink's; None to hand matches over.
        quota: Matches of subscriptions with a quota are handed on; None without.
        matched_at: As for `WriteTask`.
        shown: What a subscriber calls an event; it must pickle.
    """

    plan: CompositePlan
    batch: BatchKey
    keep: tuple[str, ...] = ()
    writer: TaskWriter | None = None
    quota: QuotaState | None = None
    matched_at: datetime | None = None
    shown: Callable[[str], str] = str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark calls for a partition; rows of other kinds are passed on."""
        own: list[pa.RecordBatch] = []
        for given in batches:
            is_own = pc.is_in(given["row_kind"], pa.array([TAKEN, REACHED], pa.int32()))
            own.append(given.filter(is_own))
            rest = given.filter(pc.invert(is_own))
            if rest.num_rows:
                yield rest
        rows = pa.Table.from_batches([each for each in own if each.num_rows], FOUND)
        if not rows.num_rows:
            return
        try:
            yield from self._write(rows)
        except WriteError as error:
            yield from unwritten_rows(error)

    def _write(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        partition = int(rows["priority"][0].as_py())
        reached = pc.max(rows.filter(pc.equal(rows["row_kind"], REACHED))["count"]).as_py()
        times = [] if self.plan.watermark_us is None else [self.plan.watermark_us]
        times += [] if reached is None else [reached - self.plan.lateness_us]
        if not times:
            return
        state = PartitionState(self.plan, partition)
        matches = state.apply(rows.filter(pc.equal(rows["row_kind"], TAKEN)), max(times), self.keep, self.shown)
        if matches.num_rows:
            yield from self._give(matches, partition)
        file = state.write(attempt_of()[1])
        told = {"partition": partition, "file": file, "watermark_us": max(times)}
        yield from result_rows(STATE, pa.table({"reason": [json.dumps(told)]}))
        counts = {name: count for name, count in state.counts().items() if count}
        yield from result_rows(COUNTED, pa.table({"kind": [*counts], "count": [*counts.values()]}))

    def _give(self, matches: pa.Table, partition: int) -> Iterator[pa.RecordBatch]:
        """Write matches, or hand them over."""
        if self.writer is None:
            yield from result_rows(PAIR, matches)
            return
        if self.quota is not None:
            limited = self.quota.is_limited(matches["subscription_id"])
            yield from result_rows(PAIR, matches.filter(pa.array(limited)))
            matches = matches.filter(pa.array(~limited))
        if matches.num_rows:
            part = self.writer.open(-1_000_000 - partition, attempt_of()[1])
            notifications, keys = make_notifications(matches, self.batch, self.matched_at)
            events = matches["event_id"].unique()
            yield from record_rows(part.add(notifications, keys, events, _SHARD + partition))
            yield from part_rows(part.finish())


class PartitionState:
    """What is open of one partition, from its file, and to a new one."""

    def __init__(self, plan: CompositePlan, partition: int) -> None:
        """Read it; what belongs to no subscription of the pinned version is forgotten."""
        self._plan = plan
        self._partition = partition
        self._matchers = plan.subscriptions.matchers()
        self._keys = KeyNumbers()
        self._events = EventStore()
        self._open = OpenMatches(plan.bounds, self._attributes)
        self._slots: dict[tuple[str, str, int], int | None] = {}
        self._known: list[Subscription] = []
        self._seen: dict[tuple[int, str], int] = {}
        self._repeated = 0
        self._number = 0
        self._watermark_us = 0
        self._is_changed = False
        file = plan.files[partition]
        if file:
            table = pa.ipc.open_file(open_storage(plan.url).read(file)).read_all()
            self._load(table)

    def apply(
        self, taken: pa.Table, watermark_us: int, keep: tuple[str, ...], shown: Callable[[str], str] = str
    ) -> pa.Table:
        """Let events come; the matches that are complete, with the columns of pairs."""
        self._watermark_us = watermark_us
        before = len(self._open.held), len(self._open.early)
        complete = self._open.apply(self._arrive(taken), watermark_us)
        self._is_changed |= bool(taken.num_rows or len(complete))
        self._is_changed |= before != (len(self._open.held), len(self._open.early))
        return self._matches(complete, keep, shown)

    def counts(self) -> dict[str, int]:
        """What is reported of a batch, by name."""
        opened = self._open
        return {
            "open": len(opened.held),
            "early": len(opened.early),
            "repeated": self._repeated,
            "dropped": opened.dropped,
            "abandoned": opened.abandoned,
        }

    def write(self, attempt: int) -> str:
        """Write what is open now to a file that no other attempt writes; the name, empty if nothing is open."""
        if not self._is_changed:
            return self._plan.files[self._partition]
        table = self._table()
        if not table.num_rows:
            return ""
        with pa.BufferOutputStream() as stream:
            with pa.ipc.new_file(stream, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as file:
                file.write_table(table)
            content = stream.getvalue().to_pybytes()
        name = f"{self._plan.name}.{self._partition:04d}.{attempt}.arrow"
        open_storage(self._plan.url).write(name, [content])
        return name

    # --- from and to tables ------------------------------------------------------------------------------

    def _slot(self, event_type: str, id: str, revision: int) -> int | None:
        """The slot of a subscription; None if it is not in the pinned version, or is another revision there."""
        known = (event_type, id, revision)
        if known not in self._slots:
            found = _subscription(self._matchers, event_type, id)
            if found is None or found[0].revision != revision:
                self._slots[known] = None
            else:
                self._slots[known] = self._open.add(found[1], group_of(id))
                self._known.append(found[0])
        return self._slots[known]

    def _codes(self, table: pa.Table, key: str) -> I64:
        """The codes of rows, -1 where their subscription is gone."""
        names = ("event_type", "subscription_id", "revision")
        subscriptions = zip(*(table[name].to_pylist() for name in names), strict=True)
        slots = np.array([-1 if (slot := self._slot(*each)) is None else slot for each in subscriptions], np.int64)
        encoded = table[key].combine_chunks().cast(pa.string()).dictionary_encode()
        numbers = self._keys.of_texts(encoded.dictionary.to_pylist())
        keys = numbers[encoded.indices.to_numpy()] if len(encoded) else np.empty(0, np.int64)
        return np.where(slots < 0, -1, slots << KEY_BITS | keys)

    def _load(self, table: pa.Table) -> None:
        match = table["match"].to_numpy()
        seen = table.filter(pa.array(match == _SEEN))
        self._seen = dict(
            zip(
                zip(seen["time_us"].to_pylist(), seen["event_id"].to_pylist(), strict=True),
                seen["number"].to_pylist(),
                strict=True,
            )
        )
        self._number = int(table.schema.metadata[b"number"])
        table = table.filter(pa.array(match != _SEEN))
        code = self._codes(table, "key")
        if (code < 0).any():
            self._is_changed = True
            table = table.filter(pa.array(code >= 0))
            code = code[code >= 0]
        time_us, number, parts, match = (
            table[name].to_numpy() for name in ("time_us", "number", "parts", "match")
        )
        begun = table["begun"].to_numpy(zero_copy_only=False)
        bits = parts | np.where(begun, BEGUN, 0) | np.where(match >= 0, WAITS, 0)
        rows = Rows(code, time_us, number, bits.astype(np.int32))
        self._open.early = rows.take(match == _EARLY)
        held = rows.take(match != _EARLY)
        self._open.held = held.take(np.argsort(held.code, kind="stable"))
        distinct, places = np.unique(number, return_index=True)
        self._events.add(distinct, table.select(["event_id", "attributes"]), places)

    def _arrive(self, taken: pa.Table) -> Rows:
        """Events by time and id, each for a subscription and key once; what was there before is left out."""
        if not taken.num_rows:
            return Rows.of([])
        taken = taken.append_column("time_us", taken["event_time"].cast(pa.int64()))
        names = ("time_us", "event_id", "subscription_id", "kind", "count", "attributes")
        taken = taken.sort_by([(name, "ascending") for name in names])
        code = self._codes(taken, "kind")
        events = zip(taken["time_us"].to_pylist(), taken["event_id"].to_pylist(), strict=True)
        numbers: dict[tuple[int, str], int] = {}
        # The parts of a subscription may be in several shards, each of which tells of its own.
        kept: dict[tuple[int, int], list[int]] = {}
        bits = taken["count"].to_pylist()
        for row, event in enumerate(events):
            if event in self._seen:
                self._repeated += 1
            elif code[row] >= 0:
                number = numbers.setdefault(event, self._number + len(numbers))
                known = kept.setdefault((number, int(code[row])), [row, number, 0])
                self._repeated += known[2] & bits[row] == bits[row]
                known[2] |= bits[row]
        self._number += len(numbers)
        self._seen |= numbers
        if not kept:
            return Rows.of([])
        rows, own, parts = np.array([*kept.values()], np.int64).T
        distinct = np.unique(own)
        # Of an event that several subscriptions need, each row has its own attributes: all are kept as one.
        self._events.add(distinct, _join(taken, rows, own, distinct), np.arange(len(distinct)))
        return Rows(code[rows], taken["time_us"].to_numpy()[rows], own, parts.astype(np.int32))

    def _table(self) -> pa.Table:
        opened = self._open
        rows = Rows.join([opened.held, opened.early])
        match = np.where(opened.held.is_waiting, opened.held.number[opened.first_rows()], _KEPT)
        match = np.concatenate([match, np.full(len(opened.early), _EARLY)])
        slots = (rows.code >> KEY_BITS).tolist()
        texts = self._keys.texts()
        types = {slot: name for (name, _, _), slot in self._slots.items() if slot is not None}
        events = self._events.get_many(rows.number.tolist())
        seen = {each: number for each, number in self._seen.items() if each[0] >= self._watermark_us}
        none = [None] * len(seen)
        nothing = [0] * len(seen)
        columns: dict[str, list[Any]] = {
            "event_type": [types[slot] for slot in slots] + none,
            "subscription_id": [self._known[slot].id for slot in slots] + none,
            "revision": [self._known[slot].revision for slot in slots] + nothing,
            "key": [texts[key] for key in (rows.code & _KEY).tolist()] + none,
            "time_us": rows.time_us.tolist() + [time_us for time_us, _ in seen],
            "number": [*rows.number.tolist(), *seen.values()],
            "parts": (rows.parts & PARTS).tolist() + nothing,
            "match": match.tolist() + [_SEEN] * len(seen),
            "begun": (rows.parts & BEGUN != 0).tolist() + [False] * len(seen),
            "event_id": [events[number]["event_id"] for number in rows.number.tolist()] + [id for _, id in seen],
            "attributes": [events[number]["attributes"] for number in rows.number.tolist()] + none,
        }
        arrays = [
            pa.array(columns[field.name], pa.string()).dictionary_encode()
            if pa.types.is_dictionary(field.type)
            else pa.array(columns[field.name], field.type)
            for field in _STATE
        ]
        return pa.table(arrays, schema=_STATE).replace_schema_metadata({"number": str(self._number)})

    def _matches(self, complete: Completions, keep: tuple[str, ...], shown: Callable[[str], str]) -> pa.Table:
        """Completed matches as pairs: of the subscription and the first event, with all events in `attributes`."""
        events = self._events.get_many(complete.numbers.tolist())
        texts = self._keys.texts()
        types = {slot: name for (name, _, _), slot in self._slots.items() if slot is not None}
        rows = []
        for each in complete:
            slot = each.code >> KEY_BITS
            own = self._known[slot]
            taking = [events[number] for number in each.numbers]
            told = []
            for one in taking:
                kept = decode_value(json.loads(one["attributes"])) if one["attributes"] else {}
                told.append(
                    {"id": shown(one["event_id"])}
                    | {name: kept[name] for name in keep if kept.get(name) is not None}
                )
            rows.append(
                {
                    "event_id": taking[0]["event_id"],
                    "subscription_id": own.id,
                    "revision": own.revision,
                    "event_type": types[slot],
                    "event_time": each.time_us,
                    "owner": own.owner,
                    "label": own.label,
                    "attributes": json_object({"key": json.loads(texts[each.code & _KEY]), "events": told}),
                    "priority": own.priority,
                }
            )
        columns = {
            field.name: pa.array([row[field.name] for row in rows], _plain(field.type)) for field in PAIRS.schema
        }
        return pa.table([columns[field.name].cast(field.type) for field in PAIRS.schema], schema=PAIRS.schema)

    def _attributes(self, numbers: Iterable[int], _names: object = None) -> dict[int, Mapping[str, Any]]:
        """The attributes of events that conditions on several events look at."""
        found = self._events.get_many(numbers)
        return {
            number: decode_value(json.loads(each["attributes"])) if each["attributes"] else {}
            for number, each in found.items()
        }


def _plain(kind: pa.DataType) -> pa.DataType:
    return pa.int64() if pa.types.is_timestamp(kind) else kind


def _join(taken: pa.Table, rows: I64, number: I64, distinct: I64) -> pa.Table:
    """One row for each distinct number, with the attributes of all its rows."""
    ids, texts = taken["event_id"].to_pylist(), taken["attributes"].to_pylist()
    found: dict[int, list[Any]] = {}
    for row, each in zip(rows.tolist(), number.tolist(), strict=True):
        known = found.setdefault(each, [ids[row], texts[row]])
        if texts[row] is not None and texts[row] != known[1]:
            known[1] = (
                texts[row] if known[1] is None else json.dumps(json.loads(known[1]) | json.loads(texts[row]))
            )
    columns = zip(*(found[each] for each in distinct.tolist()), strict=True)
    return pa.table([pa.array(each, pa.string()) for each in columns], names=["event_id", "attributes"])


def _subscription(matchers: Matchers, event_type: str, id: str) -> tuple[Subscription, CompiledComposite] | None:
    if event_type not in matchers:
        return None
    matcher = matchers[event_type]
    try:
        found = matcher.subscription(id)
    except SubscriptionError:
        return None
    if not has_state(found.dialect):
        return None
    return found, compiled(found.condition, matcher.event_type, matcher.limits)


def explain_open(
    url: str, files: Iterable[str], id: str, revision: int, composite: CompiledComposite, most: int = 100
) -> list[tuple[list[Any], CompositeExplanation]]:
    """What a state has open of one subscription: some of its keys, and the explanation of each."""
    found: list[tuple[list[Any], CompositeExplanation]] = []
    for file in filter(None, files):
        table = pa.ipc.open_file(open_storage(url).read(file)).read_all()
        own = pc.and_(
            pc.equal(table["subscription_id"].cast(pa.string()), id), pc.equal(table["revision"], revision)
        )
        rows = table.filter(pc.and_(own, pc.greater_equal(table["match"], _KEPT))).to_pylist()
        by_key: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            by_key.setdefault(row["key"], []).append(row)
        for key, kept in sorted(by_key.items())[: most - len(found)]:
            found.append((json.loads(key), _explain_rows(composite, kept)))
    return found


def _explain_rows(composite: CompiledComposite, rows: list[dict[str, Any]]) -> CompositeExplanation:
    """The explanation of what one key keeps; an event is told by its id, with what conditions on several need."""
    events = {
        row["number"]: {"id": row["event_id"]} | (decode_value(json.loads(row["attributes"] or "{}")))
        for row in rows
    }
    kept: list[KeptEvent] = []
    waiting: dict[int, list[KeptEvent]] = {}
    for row in sorted(rows, key=lambda row: (row["time_us"], row["number"])):
        event = KeptEvent(row["time_us"], row["number"], row["parts"], row["begun"])
        (kept if row["match"] == _KEPT else waiting.setdefault(row["match"], [])).append(event)
    return explain_state(composite, kept, waiting.values(), (), _EXPLAINED_TRIES, events.__getitem__)
