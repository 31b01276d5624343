"""The matcher: subscriptions in, pairs out.

A matcher compiles conditions, hands them to a collection of segments, and asks that for the pairs of events.
Each match sees one version of the subscriptions, whatever is added and removed meanwhile. All methods may be
called from several threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal, NamedTuple, TypeAlias, get_args, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tamis.arrays import I32, I64, RowIndices
from tamis.engines import AUTO, MAPPED_ENGINE, EngineLike, engine_of
from tamis.engines.auto import AutoIndex, Choice
from tamis.engines.base import DynamicIndex, Index, MappedEngine
from tamis.engines.forest import Forest, forest_of, names_read
from tamis.engines.forest.join import concatenate_forests
from tamis.errors import ConditionError, SnapshotError, SubscriptionError, TamisError
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.explain import Explanation, explain
from tamis.formulas.formula import Formula
from tamis.formulas.predicates.base import Frame
from tamis.frames import BatchFrame, select_rows
from tamis.language.bulk import FormulaColumn, compile_conditions, compile_many, refusals
from tamis.language.condition import NEEDS_STATE, Condition, compile_record
from tamis.language.dialects import SQL, WITH_ERRORS, WITH_STATE, dialect_of, has_state
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.reference import EventRow, evaluate, evaluator
from tamis.schedule.scheduler import Plan, Schedule, Scheduler, check_schedule
from tamis.segments.collection import SegmentCollection, SegmentState
from tamis.segments.columns import Columns, columns_of, texts_of
from tamis.segments.fields import check_optional_text, check_priority
from tamis.segments.files import open_segment, store_segment
from tamis.segments.live_index import LiveCollection, LiveState
from tamis.segments.pairs import Pairs, check_apart
from tamis.segments.published import EXPIRED, PART_MARK, PARTS, open_subscriptions, publish_subscriptions
from tamis.segments.records import Subscription
from tamis.segments.segment import LiveSegment
from tamis.segments.small_index import small_or_built
from tamis.snapshot import Segment, SnapshotPart, Snapshots
from tamis.statistics import Statistics
from tamis.values.column import Value
from tamis.verification.residuals import called_operators
from tamis.verification.search import GREEDY, check_order
from tamis.verification.verifier import CallPolicy

Events: TypeAlias = Any
"""A dict, a list of dicts, or anything that speaks Arrow."""
Sort: TypeAlias = Literal["event", "subscription"]


@dataclass(frozen=True, slots=True)
class MatchedPart:
    """The pairs of some rows of a batch.

    Attributes:
        rows: Rows of the batch, in the order in which they were matched.
        pairs: Their pairs; a row of these is a place in `rows`.
        seconds: From the beginning of the batch until they were found, without what was done between parts.
    """

    rows: RowIndices
    pairs: Pairs
    seconds: float


@dataclass(frozen=True, slots=True)
class PartialResult:
    """The answer to some events of a batch.

    Attributes:
        event_ids: The events that are answered, those without a pair included. pairs: A table with columns
        `event_id` and `subscription_id`: all their pairs, in the order of `event_ids`. seconds: How long it took,
        from the beginning of the batch, without what the caller did between two answers.
    """

    event_ids: pa.Array
    pairs: pa.Table
    seconds: float

    @classmethod
    def of(cls, part: MatchedPart, event_ids: pa.Array) -> PartialResult:
        """Of a part of the batch whose events have these ids."""
        ids = event_ids.take(pa.array(part.rows))
        return cls(ids, part.pairs.table(ids, "event"), part.seconds)


@dataclass(frozen=True, slots=True)
class OwnerMatch:
    """The subscriptions of one owner that an event satisfies.

    Attributes:
        owner: Whose; None for one subscription that has no owner.
        subscription_ids: Those of higher priority first, then by id.
    """

    owner: str | None
    subscription_ids: list[str]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A subscription that was not taken, and why."""

    id: str
    error: TamisError


class _PlannedBatch(NamedTuple):
    """A batch that is about to be matched: subscriptions of one version, its rows, its parts, and since when."""

    state: SegmentState | LiveState
    frame: BatchFrame
    plan: Plan
    begun: float


_LEARN_EVERY = 64
"""Of so many batches one is learned from."""
_COMPILED_AT_A_TIME = 25_000
"""Conditions that are compiled together: until they are a forest, each takes some kilobytes."""
_SAMPLED_EVENTS, _SAMPLED_CONDITIONS = 32, 8
"""The size of a sample in which errors are counted: compiling its conditions takes most of the time."""
_PART_ROWS = 512
"""Events that a thread of its own is worth."""


class Matcher:
    """Holds subscriptions to one event type and finds those that events satisfy.

    Examples:
        >>> matcher = Matcher()
        >>> matcher.add("camera-1", "price < 300 and brand in ('Sony', 'Nikon')")
        >>> matcher.match({"price": 199, "brand": "Sony"})
        ['camera-1']
    """

    def __init__(
        self,
        event_type: Any = None,
        engine: EngineLike = AUTO,
        *,
        limits: Limits = DEFAULT_LIMITS,
        statistics: Statistics | None = None,
        threads: int = 1,
        call_order: str = GREEDY,
    ) -> None:
        """Make an empty matcher.

        Args:
            event_type: Anything that `EventType.of` takes; None for schemaless events.
            engine: "auto", a name of `tamis.engines.ENGINES`, a name with settings such as "buckets:capacity=100",
                or an engine. One that is dynamic changes its index in place until something is published.
            limits: What a condition may ask for.
            statistics: What is known of events; the matcher goes on learning.
            threads: How many may work on a batch.
            call_order: Which call of an operator is made next: one of `tamis.verification.search.known_orders()`.
        """
        if threads < 1:
            msg = f"expected at least one thread, found {threads}"
            raise ValueError(msg)
        self.event_type = EventType.of(event_type)
        self._engine = engine_of(engine)
        self.limits = limits
        self.statistics = Statistics() if statistics is None else statistics
        self.threads = threads
        self._call_policy = CallPolicy(self.statistics, check_order(call_order))
        self._pool = ThreadPoolExecutor(threads, "tamis") if threads > 1 else None
        self._collection: SegmentCollection | LiveCollection = self._new_collection()
        self._scheduler = Scheduler()
        self._batches = 0
        self._published: dict[str, int] = {}

    @property
    def engine(self) -> str:
        """The name of the engine that answers; "auto" may have chosen several: that of most subscriptions."""
        if self._engine.name != AUTO:
            return self._engine.name
        choices = self._choices()
        return choices[0][1].engine if choices else MAPPED_ENGINE

    # --- subscriptions -----------------------------------------------------------------------------------

    def add(
        self,
        id: str,
        condition: str | Condition,
        *,
        priority: int = 0,
        owner: str | None = None,
        dialect: str = SQL,
    ) -> None:
        """Register a condition, as text or compiled for the same event type, under a new id.

        Raises:
            ConditionError: The condition is refused; the error has all its problems.
            DialectError: There is no such dialect.
            SubscriptionError: The id is taken, or no text; another field is not what it should be; or the
                subscription is composite, which needs a `SequenceMatcher` or a stream.
        """
        _check_id(id)
        check_priority(id, priority)
        check_optional_text(id, "owner", owner)
        if has_state(dialect):
            raise SubscriptionError(NEEDS_STATE, id=id)
        compiled = self._compile(id, condition, dialect)
        self._collection.make_room()
        with self._collection.lock:
            if id in self:
                raise _already_there(id)
            subscription = Subscription(id, compiled.text, priority, owner, dialect=compiled.dialect)
            self._collection.append(subscription, compiled.formula)

    def add_many(self, subscriptions: Iterable[Any] | pa.Table, *, dialect: str = SQL) -> list[Refusal]:
        """Register many; those that are refused come back with their reasons, the others are added.

        Args:
            subscriptions: A mapping from ids to conditions; pairs (id, condition), mappings or `Subscription`s; or
                an Arrow table with columns `id` and `condition` and, if there, `priority`, `owner`, `revision`,
                `label` and `dialect`, as mappings may have.
            dialect: Of the conditions that name none.

        Raises:
            DialectError: There is no dialect of the name that was given for all.
            SubscriptionError: Something is none of these, or a field is unknown or not what it should be.
        """
        dialect_of(dialect)
        columns = columns_of(subscriptions, dialect)
        return self._add_columns(columns, _with_state(columns))

    def add_records(self, records: pa.Table) -> list[Refusal]:
        """As `add_many`, for what a store holds: composite subscriptions stay, beside their parts."""
        return self._add_columns(columns_of(records), {})

    def _add_columns(self, columns: Columns, refused: Mapping[int, TamisError]) -> list[Refusal]:
        if len(columns) <= _COMPILED_AT_A_TIME:
            formulas = compile_many(columns.given, self.event_type, self.limits, columns.dialect)
            return self._add(columns, formulas, refused)
        errors: dict[int, TamisError] = {**refused}
        forests: list[Forest] = []
        dialects = columns.dialect
        for first in range(0, len(columns), _COMPILED_AT_A_TIME):
            some = slice(first, first + _COMPILED_AT_A_TIME)
            own = dialects if isinstance(dialects, str) else dialects[some]
            formulas = compile_conditions(columns.given[some], self.event_type, self.limits, own)
            errors.update((first + place, error) for place, error in refusals(formulas).items())
            forests.append(forest_of(formulas))
            del formulas  # before the next are compiled
        return self._add_forest(columns, concatenate_forests(forests), errors)

    def add_compiled(self, subscriptions: Iterable[Any] | pa.Table, formulas: FormulaColumn) -> list[Refusal]:
        """As `add_many`, with what `compile_conditions` gave for the same conditions and event type."""
        return self._add(columns_of(subscriptions), formulas, {})

    def replace(
        self,
        id: str,
        condition: str | Condition,
        *,
        priority: int | None = None,
        owner: str | None = None,
        dialect: str | None = None,
    ) -> None:
        """Give a subscription another condition, as its next revision; what is not given stays as it was."""
        check_priority(id, 0 if priority is None else priority)
        check_optional_text(id, "owner", owner)
        compiled = self._compile(id, condition, self.subscription(id).dialect if dialect is None else dialect)
        if has_state(compiled.dialect):
            raise SubscriptionError(NEEDS_STATE, id=id)
        self._collection.make_room()
        with self._collection.lock:
            old = self.subscription(id)
            new = Subscription(
                id,
                compiled.text,
                old.priority if priority is None else priority,
                old.owner if owner is None else owner,
                old.revision + 1,
                old.label,
                compiled.dialect,
            )
            self._collection.replace(new, compiled.formula)

    def remove(self, id: str) -> None:
        """Forget a subscription.

        Raises:
            SubscriptionError: There is none of that id.
        """
        with self._collection.lock:
            if not self._collection.remove(id):
                raise _not_there(id)

    def remove_many(self, ids: Iterable[str] | pa.Array, *, merge: bool = True) -> list[str]:
        """Forget many at once; gives the ids that were not there.

        `merge=False` leaves segments as they are, for whoever opened them only to match.
        """
        if isinstance(self._collection, LiveCollection):
            with self._collection.lock:  # publishing may put segments in its place meanwhile
                return self._collection.remove_many(texts_of(ids))
        return self._collection.remove_many(texts_of(ids), merge=merge)

    def part_ids(self) -> pa.Array:
        """The ids of records that are parts of composite subscriptions."""
        if isinstance(self._collection, SegmentCollection):
            return self._collection.ids_with(PART_MARK)
        ids = [each.id for each in self._collection.subscriptions() if PART_MARK in each.id]
        return pa.array(ids, pa.large_string())

    def subscription(self, id: str) -> Subscription:
        """The subscription of that id; raises SubscriptionError if there is none."""
        found = self._collection.find(id)
        if found is None:
            raise _not_there(id)
        return found

    def __len__(self) -> int:
        """Number of subscriptions."""
        return self._collection.count

    def __contains__(self, id: object) -> bool:
        """Is there a subscription of that id?"""
        return isinstance(id, str) and self._collection.find(id) is not None

    def __iter__(self) -> Iterator[Subscription]:
        """All subscriptions, as they are now."""
        return self._collection.newest().subscriptions()

    # --- events ------------------------------------------------------------------------------------------

    @overload
    def match(self, event: Mapping[str, Any], *, by: None = None) -> list[str]: ...

    @overload
    def match(
        self, event: Mapping[str, Any], *, by: Literal["owner"], apart: Collection[str] = ()
    ) -> list[OwnerMatch]: ...

    def match(
        self, event: Mapping[str, Any], *, by: Literal["owner"] | None = None, apart: Collection[str] = ()
    ) -> list[str] | list[OwnerMatch]:
        """The ids of the subscriptions that one event satisfies, those of higher priority first.

        With `by="owner"`, once for each owner, with all of its subscriptions; those without an owner, and those
        whose ids are in `apart`, stand alone.
        """
        _check_by(by, apart)
        state, frame = self._begin(EventBatch.of(event, self.event_type))
        found = state.match(frame, self._call_policy)
        if by is None:
            return found.by_priority()
        _, owners, ids = found.by_owner(apart)
        return [OwnerMatch(owner, each) for owner, each in zip(owners.to_pylist(), ids.to_pylist(), strict=True)]

    def match_batch(
        self,
        events: Events,
        *,
        by: Literal["owner"] | None = None,
        apart: Collection[str] = (),
        event_id: str | None = None,
        sort: Sort | None = "event",
        schedule: Schedule = "arrival",
        on_ready: Callable[[PartialResult], None] | None = None,
    ) -> pa.Table:
        """All pairs of an event and a subscription that it satisfies.

        Args:
            events: A list of dicts, a pandas data frame, or anything with the Arrow PyCapsule interface.
            by: "owner": one row for each event and owner, in the order of the events.
            apart: By owner: ids of subscriptions that stand alone all the same.
            event_id: The attribute whose value names the event; its row number otherwise.
            sort: By "event", in the order of the events, or by "subscription", all pairs of one together; None
                for any order, which is quickest.
            schedule: In which order events are matched: of their "arrival", all together, or "shortest-first",
                in parts, those of little work first. The pairs are the same.
            on_ready: Called with the answer to some events as soon as it is there.

        Returns:
            A table with columns `event_id` and `subscription_id`; by owner, with `event_id`, `owner`, which is
            NULL for a subscription that has none, and `subscription_id`, a list.

        Raises:
            ValueError: There is no such order or schedule.
        """
        _check_by(by, apart)
        if sort not in (*get_args(Sort), None):
            msg = f"there is no order {sort!r}; known are {', '.join(get_args(Sort))}, and None for any"
            raise ValueError(msg)
        batch = EventBatch.of(events, self.event_type, event_id=event_id)
        parts = []
        for part in self._match_plan(self._plan(batch, schedule, adapts=on_ready is not None)):
            parts.append(part)
            if on_ready is not None:
                on_ready(PartialResult.of(part, batch.ids))
        pairs = _join(parts)
        if by is None:
            return pairs.table(batch.ids, sort)
        rows, owners, ids = pairs.by_owner(apart)
        return pa.table({"event_id": batch.ids.take(pa.array(rows)), "owner": owners, "subscription_id": ids})

    def match_parts(
        self,
        events: Events,
        *,
        event_id: str | None = None,
        schedule: Schedule | None = None,
        width: int | None = None,
    ) -> Iterator[PartialResult]:
        """The answers to events as they are ready, each event in one of them.

        All are of the version of the subscriptions that was the newest when this was called.

        Args:
            events: As for `match_batch`.
            event_id: As for `match_batch`.
            schedule: As for `match_batch`; with "arrival", too, events are matched in parts. By default
                "shortest-first" where conditions call expensive operators: elsewhere it rarely pays.
            width: Events of a part; by default what has given the best mean response time.
        """
        batch = EventBatch.of(events, self.event_type, event_id=event_id)
        parts = self._match_plan(self._plan(batch, schedule, width, adapts=True))
        return (PartialResult.of(part, batch.ids) for part in parts)

    def match_pairs(self, batch: EventBatch) -> Pairs:
        """The pairs of a batch that was read before: rows, subscription ids and revisions."""
        return _join(list(self._match_plan(self._plan(batch))))

    def match_rows(self, batch: EventBatch, schedule: Schedule | None = "arrival") -> Iterator[MatchedPart]:
        """The pairs of a batch that was read before, part by part, as rows and slots.

        All parts are of the version of the subscriptions that is the newest when this is called.
        """
        return self._match_plan(self._plan(batch, schedule))

    def _plan(
        self,
        batch: EventBatch,
        schedule: Schedule | None = "arrival",
        width: int | None = None,
        *,
        adapts: bool = False,
    ) -> _PlannedBatch:
        """Take the newest version of the subscriptions for a batch, and cut the batch into parts.

        Args:
            batch: Events that were read before.
            schedule: As for `match_batch`.
            width: Events of a part.
            adapts: Without a width, cut a batch of "arrival", too, into parts of the width that proved best; else
                it stays whole, but for what is shared among threads.
        """
        begun = perf_counter()
        state, frame = self._begin(batch)
        expensive = schedule != "arrival" and state.is_expensive(self._call_policy)
        if schedule is None:
            schedule = "shortest-first" if expensive else "arrival"
        check_schedule(schedule, width)
        if width is None and schedule == "arrival" and not adapts:
            width = self._whole(frame.rows)
        self._scheduler.observe_updates(self._collection.updates)
        plan = self._scheduler.plan(
            frame.rows,
            schedule=schedule,
            width=width,
            estimate=lambda: state.estimate(frame, self._call_policy),
            expensive=expensive,
        )
        return _PlannedBatch(state, frame, plan, begun)

    def _match_plan(self, planned: _PlannedBatch) -> Iterator[MatchedPart]:
        """Match the parts of a batch, in the threads of the pool if there are enough events for them."""
        state, frame, plan, begun = planned
        pool = self._pool if frame.rows >= 2 * _PART_ROWS else None
        parts = (frame if len(rows) == frame.rows else select_rows(frame, rows) for rows in plan.parts)
        answers: Iterator[tuple[Pairs, float]]
        if pool is None:
            answers = ((state.match(part, self._call_policy), perf_counter()) for part in parts)
        else:
            answers = _match_in_threads(pool, state, parts, self._call_policy)
        seconds: list[float] = []
        away = 0.0
        for rows, (pairs, end) in zip(plan.parts, answers, strict=True):
            seconds.append(end - begun - away)
            given = perf_counter()
            yield MatchedPart(rows, pairs, seconds[-1])
            if pool is None:  # the threads of a pool go on meanwhile
                away += perf_counter() - given
        self._scheduler.record(plan, seconds)

    def attributes(self) -> set[str]:
        """The names of the attributes that conditions read, of each path the outermost."""
        return {name for forest in self._collection.forests() for name in names_read(forest)}

    def operators(self) -> set[str]:
        """The names of the operators that conditions call."""
        return {name for forest in self._collection.forests() for name in called_operators(forest)}

    def explain(self, id: str, event: Mapping[str, Any] | EventBatch) -> Explanation:
        """Why an event satisfies a subscription, or why not."""
        subscription = self.subscription(id)
        batch = event if isinstance(event, EventBatch) else EventBatch.of(event, self.event_type)
        sharing = self._collection.newest().users
        condition = self._compile(subscription.id, subscription.condition, subscription.dialect)
        return explain(condition, batch, subscription_id=id, sharing=sharing)

    def count_unknown(
        self, events: Mapping[str, Any] | Sequence[Mapping[str, Any]] | pa.Table | EventBatch
    ) -> dict[str, int]:
        """For how many events each condition is NULL, which is an error in CESQL and CEL: of those that have any.

        Matching evaluates only whether a condition is true; this evaluates all of every condition, so that it is
        meant for a sample of events.
        """
        batch = EventBatch.of(events, self.event_type)
        compiled = ((each.id, self._compile(each.id, each.condition, each.dialect)) for each in self)
        verdicts = ((id, evaluate(condition, batch)) for id, condition in compiled)
        return {id: unknown for id, found in verdicts if (unknown := found.count(None))}

    def sample_errors(self, batch: EventBatch, seed: int) -> tuple[int, int]:
        """How many pairs of an event and a condition in CESQL or CEL were tried, and how many had an error.

        Pairs of up to 32 events and 8 conditions, which depend on the seed.
        """
        if isinstance(self._collection, LiveCollection):
            prone = pa.array([each.id for each in self if each.dialect in WITH_ERRORS], pa.large_string())
        else:
            prone = self._collection.ids_in(WITH_ERRORS)
        if not len(prone) or not batch.rows:
            return 0, 0
        choose = np.random.default_rng(seed).choice
        rows, places = (
            choose(count, min(count, most), replace=False, shuffle=False)
            for count, most in ((batch.rows, _SAMPLED_EVENTS), (len(prone), _SAMPLED_CONDITIONS))
        )
        columns: dict[tuple[str, ...], list[Value]] = {}
        verdicts: list[bool | None] = []
        for id in prone.take(pa.array(places)).to_pylist():
            each = self.subscription(id)
            try:
                condition = self._compile(id, each.condition, each.dialect)
            except ConditionError:  # beyond the limits of this matcher, which may be narrower than the publisher's
                continue
            verdict = evaluator(condition.expression, batch, columns)
            verdicts += [verdict(EventRow(columns, row)) for row in rows.tolist()]
        return len(verdicts), verdicts.count(None)

    def stats(self) -> dict[str, Any]:
        """What the matcher holds: the engine, counts, and bytes by structure.

        Where "auto" chooses, `choices` has an entry for every segment, the largest first: its `subscriptions`, the
        `engine`, the `reason`, and the evidence if engines were compared, `us_per_event` of each on so many
        `events`. `reason`, `us_per_event` and `events` beside it are those of the largest segment.
        `response_seconds` tells how long events of the last batches waited for their answers.
        """
        counts, sizes = self._collection.stats()
        engine: dict[str, Any] = {"engine": self.engine}
        choices = [{"subscriptions": count, **chosen.to_dict()} for count, chosen in self._choices()]
        if choices:
            engine |= {name: choices[0][name] for name in ("reason", "us_per_event", "events")}
            engine["choices"] = choices
        waits = self._scheduler.stats()
        return {**engine, "event_type": self.event_type.name, **counts, "bytes": sizes, "response_seconds": waits}

    # --- snapshots ---------------------------------------------------------------------------------------

    def publish(self, url: str | os.PathLike[str]) -> int:
        """Make what the matcher holds a version of the snapshot at `url`; gives its number.

        Only segments that are not there yet are written; merges that are under way are waited for. A URL that has
        versions already takes a new one only from a matcher that was opened from its newest version, or published
        it.

        Raises:
            MergeError: A merge in the background has failed; no subscription is lost.
            SnapshotError: Another process published there meanwhile, or `url` cannot be written.
        """
        self.settle()
        snapshots = Snapshots(url)
        parent = self._published.get(snapshots.place)
        if parent is not None and snapshots.latest() == parent:
            others = set(snapshots.manifest(parent).event_types) - {self.event_type.name}
            if others:
                msg = f"version {parent} is for event type {', '.join(sorted(others))}, too: publish them together"
                raise SnapshotError(snapshots.url, msg, "conflict")
        manifest = publish_subscriptions({self.event_type.name: self}, snapshots, parent)
        self._published[snapshots.place] = manifest.version
        return manifest.version

    def segments(self) -> list[SnapshotPart]:
        """Its segments, to be published; a matcher that changed in place goes on with segments."""
        with self._collection.lock:
            if isinstance(self._collection, LiveCollection):
                self._collection = self._in_segments(self._collection)
        state = self._collection.flush()
        dead = [segment.tombstones(state.version) for segment in state.segments]
        return [
            SnapshotPart(store_segment(segment), len(segment), slots, self.event_type.name)
            for segment, slots in zip(state.segments, dead, strict=True)
            if len(slots) < len(segment)
        ]

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str],
        version: int | None = None,
        *,
        event_type: str | None = None,
        engine: EngineLike = AUTO,
        limits: Limits = DEFAULT_LIMITS,
        threads: int = 1,
        call_order: str = GREEDY,
    ) -> Matcher:
        """The matcher that was published as a version of the snapshot at `url`, the newest by default.

        Segments are mapped and not read; several processes share their pages. `event_type` names the event type
        where a snapshot is for several.

        Raises:
            SnapshotError: There is no such version, or it is damaged, foreign or newer.
            SubscriptionError: It is for several event types, or not for `event_type`.
        """
        snapshots = Snapshots(url)
        manifest = snapshots.manifest(version)
        names = ", ".join(sorted(manifest.event_types)) or "none"
        if event_type is None and len(manifest.event_types) != 1:
            msg = f"expected subscriptions for one event type, found {names}"
            raise SubscriptionError(msg)
        if event_type is not None and event_type not in manifest.event_types:
            msg = f"{os.fspath(url)}: there is no event type {event_type!r}; there are {names}"
            raise SubscriptionError(msg)
        name = next(iter(manifest.event_types)) if event_type is None else event_type
        published = open_subscriptions(snapshots, manifest, [name])[name]
        matcher = cls.of_segments(*published, engine=engine, limits=limits, threads=threads, call_order=call_order)
        matcher._published[snapshots.place] = manifest.version
        if manifest.extra.get(EXPIRED):
            matcher.remove_many(manifest.extra[EXPIRED], merge=False)
        if manifest.extra.get(PARTS):
            matcher.remove_many(matcher.part_ids(), merge=False)
        return matcher

    @classmethod
    def of_segments(
        cls,
        event_type: EventType,
        segments: Iterable[tuple[Segment, I32]],
        statistics: Statistics | None = None,
        **settings: Any,
    ) -> Matcher:
        """A matcher of published segments, each with its dead slots; other arguments are those of `Matcher`."""
        matcher = cls(event_type, statistics=statistics, **settings)
        living: list[LiveSegment] = []
        for segment, dead in segments:
            living.append(open_segment(segment, matcher._engine, matcher.statistics))
            if len(dead):
                living[-1].mark_deleted(dead, 0)
        matcher._collection = SegmentCollection(matcher._build, living)
        return matcher

    def merge(self) -> None:
        """Make one segment of all, without what was removed.

        Raises:
            MergeError: A merge in the background has failed.
        """
        self._collection.merge()

    def settle(self) -> None:
        """Wait until the segments that are due have been merged in the background.

        Raises:
            MergeError: A merge has failed; no subscription is lost.
        """
        self._collection.settle()

    def close(self) -> None:
        """End the threads of the matcher, which merge and match; it can still be used, and may begin new merges.

        A process that ends does so by itself.

        Raises:
            MergeError: A merge has failed; no subscription is lost.
        """
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()
        self._collection.stop()

    # --- inside ------------------------------------------------------------------------------------------

    def _compile(self, id: str, condition: str | Condition, dialect: str) -> Condition:
        if isinstance(condition, Condition):
            return condition
        if not isinstance(condition, str):
            msg = f"condition: expected a text, found {condition!r:.80}"
            raise SubscriptionError(msg, id=id)
        return compile_record(condition, self.event_type, self.limits, dialect)

    def _new_collection(self) -> SegmentCollection | LiveCollection:
        if self._engine.dynamic:
            index = self._engine.build((), self.statistics)
            assert isinstance(index, DynamicIndex), f"engine {self.engine!r} says that it is dynamic"
            return LiveCollection(index, self._formula_of)
        return SegmentCollection(self._build)

    def _in_segments(self, live: LiveCollection) -> SegmentCollection:
        """The same subscriptions in segments, under the same lock, which the caller holds: no change is lost."""
        collection = SegmentCollection(self._build, lock=live.lock)
        collection.append_all((each, self._formula_of(each)) for each in live.subscriptions())
        collection.updates = live.updates
        return collection

    def _formula_of(self, subscription: Subscription) -> Formula:
        return self._compile(subscription.id, subscription.condition, subscription.dialect).formula

    def _build(self, forest: Forest) -> Index:
        if isinstance(self._engine, MappedEngine):
            return small_or_built(forest, lambda: self._engine.build(forest, self.statistics))
        return self._engine.build(forest, self.statistics)

    def _choices(self) -> list[tuple[int, Choice]]:
        """Subscriptions of each segment and what was chosen for it, the largest first; none if nobody chose."""
        if isinstance(self._collection, LiveCollection):
            return []
        segments = sorted(self._collection.state.segments, key=len, reverse=True)
        return [(each.alive, each.index.choice) for each in segments if isinstance(each.index, AutoIndex)]

    def _add(
        self, columns: Columns, formulas: Sequence[Formula | ConditionError], refused: Mapping[int, TamisError]
    ) -> list[Refusal]:
        """Add what is neither refused nor taken."""
        errors: dict[int, TamisError] = {**refused, **refusals(formulas)}
        if isinstance(formulas, FormulaColumn):
            return self._add_forest(columns, forest_of(formulas), errors)
        self._collection.make_room()
        with self._collection.lock:
            added: list[tuple[Subscription, Formula]] = []
            for place in self._new_places(columns, errors)[0].tolist():
                formula = formulas[place]
                assert isinstance(formula, Formula), "refused ones are left out"
                added.append((columns.subscription(place), formula))
            self._collection.append_all(added)
        return self._refusals(columns, errors)

    def _add_forest(self, columns: Columns, forest: Forest, errors: dict[int, TamisError]) -> list[Refusal]:
        """Add what is neither refused, by place in `errors`, nor taken."""
        self._collection.make_room()
        with self._collection.lock if isinstance(self._collection, LiveCollection) else nullcontext():
            # Segments are built without the lock, and may find ids taken that were free before.
            keep, searched = self._new_places(columns, errors)
            taken = self._collection.append_many(columns, forest, keep, searched) if len(keep) else keep
        for place in taken.tolist():
            errors[place] = _already_there(columns.ids[place].as_py())
        return self._refusals(columns, errors)

    def _new_places(self, columns: Columns, errors: dict[int, TamisError]) -> tuple[I64, Sequence[LiveSegment]]:
        """Which subscriptions can be added, and where their ids were looked for; `errors` gets the others."""
        for place in np.flatnonzero(pc.equal(columns.ids, "")).tolist():
            errors.setdefault(place, _no_id(""))
        existing, searched = self._collection.search(columns.ids)
        for place in np.flatnonzero(existing).tolist():
            errors.setdefault(place, _already_there(columns.ids[place].as_py()))
        keep = np.ones(len(columns), np.bool_)
        keep[list(errors)] = False
        return np.flatnonzero(keep), searched

    def _refusals(self, columns: Columns, errors: dict[int, TamisError]) -> list[Refusal]:
        self._collection.maintain()
        return [Refusal(columns.ids[place].as_py(), errors[place]) for place in sorted(errors)]

    def _whole(self, rows: int) -> int:
        """Events of a part if no caller waits for parts: all, unless several threads share them."""
        parts = 1 if rows < 2 * _PART_ROWS else min(self.threads, rows // _PART_ROWS)
        return max(1, -(-rows // parts))

    def _begin(self, batch: EventBatch) -> tuple[SegmentState | LiveState, BatchFrame]:
        """The newest version, and the events; one batch in `_LEARN_EVERY` is observed for the statistics."""
        frame = BatchFrame(batch)
        state = self._collection.newest(frame.rows)
        self._batches += 1
        if self._batches % _LEARN_EVERY == 1 and frame.rows:
            attributes = self._collection.attributes()
            if attributes:
                self.statistics.observe(frame, attributes)
        return state, frame


def _match_in_threads(
    pool: ThreadPoolExecutor, state: SegmentState | LiveState, parts: Iterable[Frame], policy: CallPolicy
) -> Iterator[tuple[Pairs, float]]:
    """The pairs of each part, and when they were found; all parts are begun at once."""

    def match(part: Frame) -> tuple[Pairs, float]:
        return state.match(part, policy), perf_counter()

    return pool.map(match, parts)


def _join(parts: Sequence[MatchedPart]) -> Pairs:
    """The pairs of all parts of a batch; a single part is the batch itself, in its own order."""
    return parts[0].pairs if len(parts) == 1 else Pairs.join([(part.rows, part.pairs) for part in parts])


def _check_by(by: object, apart: Collection[str]) -> None:
    if by not in (None, "owner"):
        msg = f"expected by='owner' or None, found {by!r}"
        raise ValueError(msg)
    check_apart(by, apart)


def _not_there(id: str) -> SubscriptionError:
    return SubscriptionError(kind="unknown", id=id)


def _check_id(id: object) -> None:
    if not isinstance(id, str) or not id:
        raise _no_id(id)


def _no_id(found: object) -> SubscriptionError:
    hint = f"; write {str(found)!r}" if isinstance(found, int) else ""
    return SubscriptionError(f"the id of a subscription is a text that is not empty, found {found!r}{hint}")


def _with_state(columns: Columns) -> dict[int, TamisError]:
    """The errors, by place, of subscriptions that a matcher, which keeps no state, would never match."""
    if columns.dialects.null_count == len(columns):
        return {}
    named = pc.is_in(columns.dialects, pa.array(WITH_STATE, columns.dialects.type))
    places = np.flatnonzero(named.to_numpy(zero_copy_only=False)).tolist()
    return {place: SubscriptionError(NEEDS_STATE, id=columns.ids[place].as_py()) for place in places}


def _already_there(id: str) -> SubscriptionError:
    return SubscriptionError("use replace to change it", "exists", id)
