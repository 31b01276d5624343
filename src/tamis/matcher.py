"""The matcher: subscriptions in, pairs out.

The front of the house: it compiles conditions, hands them to a collection of segments, and asks that for the pairs
of events. Each match sees one version of the subscriptions, whatever is added and removed meanwhile. All methods
may be called from several threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from tamis.engines import ENGINES
from tamis.engines.base import Index
from tamis.engines.choosing import MAPPED, Choice, choose
from tamis.engines.forest import Forest, forest_of, names_read
from tamis.engines.forest.join import join_forests
from tamis.errors import ConditionError, SubscriptionError, TamisError
from tamis.events.batch import EventBatch
from tamis.events.compute import BatchFrame
from tamis.events.event_type import EventType
from tamis.explain import Explanation, explain
from tamis.language.bulk import FormulaColumn, compile_conditions, compiled_alone
from tamis.language.condition import Condition, compile_condition
from tamis.language.formula import Formula
from tamis.limits import DEFAULT_LIMITS, Limits
from tamis.operators.finding import operators_called
from tamis.operators.search import STRATEGIES
from tamis.operators.settling import Manner
from tamis.schedule.rows import Places
from tamis.schedule.scheduler import Done, Schedule, Scheduler, check_schedule
from tamis.segments.answering import Ready, handed_out, scheduled
from tamis.segments.collection import Collection, State
from tamis.segments.columns import Columns, columns_of, texts_of
from tamis.segments.files import opened, stored
from tamis.segments.live import LiveSegment
from tamis.segments.pairs import Pairs
from tamis.segments.records import Subscription
from tamis.statistics import Statistics

if TYPE_CHECKING:
    from tamis.snapshot import Part, Segment

Events: TypeAlias = Any
"""A dict, a list of dicts, or anything that speaks Arrow."""
Sort: TypeAlias = Literal["event", "subscription"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A subscription that was not taken, and why."""

    id: str
    error: TamisError


_WORTH_BULK = 100
"""Number of conditions from which the bulk compiler repays loading its kernels."""
_LEARN_EVERY = 64
"""Of so many batches one is learned from."""
_PART_ROWS = 512
"""Events that a thread of its own is worth."""


class Matcher:
    """Holds subscriptions to one event type and finds those that events satisfy.

    >>> matcher = Matcher()
    >>> matcher.add("camera-1", "price < 300 and brand in ('Sony', 'Nikon')")
    >>> matcher.match({"price": 199, "brand": "Sony"})
    ['camera-1']
    """

    def __init__(
        self,
        event_type: Any = None,
        engine: str = "auto",
        *,
        limits: Limits = DEFAULT_LIMITS,
        statistics: Statistics | None = None,
        threads: int = 1,
        call_order: str = "greedy",
    ) -> None:
        """Make an empty matcher.

        Args:
            event_type: Anything that `EventType.of` takes; None for schemaless events.
            engine: A name of `tamis.engines.ENGINES`, or "auto".
            limits: What a condition may ask for.
            statistics: What is known of events; the matcher goes on learning.
            threads: How many may work on a batch.
            call_order: Which call of an operator is made next: a name of `tamis.operators.search.STRATEGIES`.
        """
        name = MAPPED if engine == "auto" else engine
        if name not in ENGINES:
            msg = f"there is no engine {engine!r}; known are auto, {', '.join(sorted(ENGINES))}"
            raise ValueError(msg)
        if threads < 1:
            msg = f"expected at least one thread, found {threads}"
            raise ValueError(msg)
        self.event_type = EventType.of(event_type)
        self.engine = name
        self._chooses = engine == "auto"
        self._choice: Choice | None = None
        self.limits = limits
        self.statistics = Statistics() if statistics is None else statistics
        if call_order not in STRATEGIES:
            msg = f"there is no order of calls {call_order!r}; known are {', '.join(STRATEGIES)}"
            raise ValueError(msg)
        self.threads = threads
        self._manner = Manner(self.statistics, call_order)
        self._pool = ThreadPoolExecutor(threads, "tamis") if threads > 1 else None
        self._collection = Collection(self._build)
        self._scheduler = Scheduler()
        self._batches = 0
        self._published: dict[str, int] = {}

    # --- subscriptions -----------------------------------------------------------------------------------

    def add(self, id: str, condition: str | Condition, *, priority: int = 0, owner: str | None = None) -> None:
        """Register a condition, as text or compiled for the same event type, under a new id.

        Raises:
            ConditionError: The condition is refused; the error has all its problems.
            SubscriptionError: The id is taken.
        """
        compiled = self._compile(condition)
        with self._collection.lock:
            if id in self:
                raise _taken(id)
            self._collection.append(Subscription(id, compiled.text, priority, owner), compiled.formula)

    def add_many(self, subscriptions: Iterable[Any] | pa.Table) -> list[Refusal]:
        """Register many; those that are refused come back with their reasons, the others are added.

        Args:
            subscriptions: Pairs (id, condition), mappings or `Subscription`s, or an Arrow table with columns
                `id` and `condition` and, if there, `priority` and `owner`.
        """
        columns = columns_of(subscriptions)
        return self._add(columns, self._compile_many(columns.given))

    def add_compiled(self, subscriptions: Iterable[Any] | pa.Table, formulas: FormulaColumn) -> list[Refusal]:
        """As `add_many`, with what `compile_conditions` gave for the same conditions and event type."""
        return self._add(columns_of(subscriptions), formulas)

    def replace(
        self, id: str, condition: str | Condition, *, priority: int | None = None, owner: str | None = None
    ) -> None:
        """Give a subscription another condition, as its next revision; what is not given stays as it was."""
        compiled = self._compile(condition)
        with self._collection.lock:
            old = self.subscription(id)
            new = Subscription(
                id,
                compiled.text,
                old.priority if priority is None else priority,
                old.owner if owner is None else owner,
                old.revision + 1,
            )
            self._collection.replace(new, compiled.formula)

    def remove(self, id: str) -> None:
        """Forget a subscription.

        Raises:
            SubscriptionError: There is none of that id.
        """
        if not self._collection.remove(id):
            raise _unknown(id)

    def remove_many(self, ids: Iterable[str] | pa.Array) -> list[str]:
        """Forget many at once; gives the ids that were not there."""
        return self._collection.remove_many(texts_of(ids))

    def subscription(self, id: str) -> Subscription:
        """The subscription of that id; raises SubscriptionError if there is none."""
        found = self._collection.find(id)
        if found is None:
            raise _unknown(id)
        return found

    def __len__(self) -> int:
        """Number of subscriptions."""
        return self._collection.count

    def __contains__(self, id: object) -> bool:
        """Is there a subscription of that id?"""
        return isinstance(id, str) and self._collection.find(id) is not None

    def __iter__(self) -> Iterator[Subscription]:
        """All subscriptions, as they are now."""
        return self._collection.state.subscriptions()

    # --- events ------------------------------------------------------------------------------------------

    def match(self, event: Mapping[str, Any]) -> list[str]:
        """The ids of the subscriptions that one event satisfies, those of higher priority first."""
        state, frame = self._begin(EventBatch.of(event, self.event_type))
        return state.match(frame, self._manner).by_priority()

    def match_batch(
        self,
        events: Events,
        *,
        event_id: str | None = None,
        sort: Sort | None = "event",
        schedule: Schedule = "arrival",
        on_ready: Callable[[Ready], None] | None = None,
    ) -> pa.Table:
        """All pairs of an event and a subscription that it satisfies.

        Args:
            events: A list of dicts, a pandas data frame, or anything with the Arrow PyCapsule interface.
            event_id: The attribute whose value names the event; its row number otherwise.
            sort: By "event", in the order of the events, or by "subscription", all pairs of one together; None
                for any order, which is quickest.
            schedule: In which order events are worked off: of their "arrival", all together, or "shortest-first",
                in parts, those of little work first. The pairs are the same.
            on_ready: Called with the answer to some events as soon as it is there.

        Returns:
            A table with columns `event_id` and `subscription_id`.
        """
        batch = EventBatch.of(events, self.event_type, event_id=event_id)
        if on_ready is None:
            return self.pairs(batch, sort=sort, schedule=schedule)
        parts: list[tuple[Places, Pairs]] = []
        for done in self._scheduled(batch, schedule, None, handed_out(batch)):
            pairs, ids, table = done.found
            parts.append((done.rows, pairs))
            on_ready(Ready(ids, table, done.seconds))
        return Pairs.joined(parts).table(batch.ids, sort)

    def match_parts(
        self,
        events: Events,
        *,
        event_id: str | None = None,
        schedule: Schedule = "shortest-first",
        width: int | None = None,
    ) -> Iterator[Ready]:
        """The answers to events as they are ready, each event in one of them, those of little work first.

        All are of the version of the subscriptions that was the newest when this was called.

        Args:
            events: As for `match_batch`.
            event_id: As for `match_batch`.
            schedule: As for `match_batch`; with "arrival", too, events are worked off in parts.
            width: Events of a part; by default what has given the best mean response time.
        """
        batch = EventBatch.of(events, self.event_type, event_id=event_id)
        answers = self._scheduled(batch, schedule, width, handed_out(batch))
        return (Ready(*each.found[1:], each.seconds) for each in answers)

    def pairs(self, batch: EventBatch, *, sort: Sort | None = "event", schedule: Schedule = "arrival") -> pa.Table:
        """As `match_batch`, of a batch that was read before."""
        return self.found(batch, schedule).table(batch.ids, sort)

    def found(self, batch: EventBatch, schedule: Schedule = "arrival") -> Pairs:
        """The pairs of a batch that was read before, as they were found: rows, subscription ids and revisions."""
        parts = list(self.found_parts(batch, schedule))
        # A single part is the batch itself, in its own order.
        return parts[0].found if len(parts) == 1 else Pairs.joined([(each.rows, each.found) for each in parts])

    def found_parts(self, batch: EventBatch, schedule: Schedule = "arrival") -> Iterator[Done[Pairs]]:
        """As `found`, part by part, the rows of pairs being those within the part; by arrival all in one."""
        width = self._whole(batch.rows) if schedule == "arrival" else None
        return self._scheduled(batch, schedule, width, lambda _, pairs: pairs)

    def attributes(self) -> set[str]:
        """The names of the attributes that conditions read, of each path the outermost."""
        segments = self._collection.flush().segments
        forests = [segment.forest for segment in segments]
        forests += [segment.settler.forest for segment in segments if segment.settler is not None]
        return {name for forest in forests for name in names_read(forest)}

    def operators(self) -> set[str]:
        """The names of the operators that conditions call."""
        state = self._collection.flush()
        found: set[str] = set()
        for segment in state.segments:
            if segment.settler is not None:
                living = np.isin(segment.settler.slots, segment.living(state.version))
                forest = segment.settler.forest
                if not living.all():  # what is left of removed ones may call what is there no more
                    forest = join_forests([(forest, np.flatnonzero(living))])
                found |= operators_called(forest)
        return found

    def explain(self, id: str, event: Mapping[str, Any] | EventBatch) -> Explanation:
        """Why an event satisfies a subscription, or why not."""
        subscription = self.subscription(id)
        batch = event if isinstance(event, EventBatch) else EventBatch.of(event, self.event_type)
        sharing = self._collection.state.users
        return explain(self._compile(subscription.condition), batch, subscription_id=id, sharing=sharing)

    def stats(self) -> dict[str, Any]:
        """What the matcher holds: the engine, and why if it was chosen, counts, and bytes by structure.

        `response_seconds` tells how long events of the last batches waited for their answers.
        """
        counts, sizes = self._collection.stats()
        chosen = self._choice
        engine = {"engine": self.engine} if chosen is None else {"engine": chosen.engine, "reason": chosen.reason}
        waits = self._scheduler.stats()
        return {**engine, "event_type": self.event_type.name, **counts, "bytes": sizes, "response_seconds": waits}

    # --- snapshots ---------------------------------------------------------------------------------------

    def publish(self, url: str | os.PathLike[str]) -> int:
        """Make what the matcher holds a version of the snapshot at `url`; gives its number.

        Only segments that are not there yet are written. A URL that has versions already takes a new one only
        from a matcher that was opened from its newest version, or published it.

        Raises:
            SnapshotError: Somebody else published there meanwhile, or `url` cannot be written.
        """
        from tamis.matchers import publish
        from tamis.snapshot import Snapshots

        snapshots = Snapshots(url)
        manifest = publish({self.event_type.name: self}, snapshots, self._published.get(snapshots.place))
        self._published[snapshots.place] = manifest.version
        return manifest.version

    def parts(self) -> list[Part]:
        """Its segments, to be published."""
        from tamis.snapshot import Part

        state = self._collection.flush()
        return [
            Part(stored(segment), len(segment), segment.buried(state.version), self.event_type.name)
            for segment in state.segments
            if len(segment.living(state.version))
        ]

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str],
        version: int | None = None,
        *,
        event_type: str | None = None,
        engine: str = "auto",
        limits: Limits = DEFAULT_LIMITS,
        threads: int = 1,
    ) -> Matcher:
        """The matcher that was published as a version of the snapshot at `url`, the newest by default.

        Segments are mapped and not read; several processes share their pages. `event_type` names the event type
        where a snapshot is for several.

        Raises:
            SnapshotError: There is no such version, or it is damaged, foreign or newer.
            SubscriptionError: It is for several event types, or not for `event_type`.
        """
        from tamis.matchers import Matchers
        from tamis.snapshot import Snapshots

        matchers = Matchers.open(url, version, engine=engine, limits=limits, threads=threads)
        if event_type is not None and event_type not in matchers:
            msg = f"{os.fspath(url)}: there is no event type {event_type!r}; there are {', '.join(matchers)}"
            raise SubscriptionError(msg)
        matcher = matchers.only if event_type is None else matchers[event_type]
        if matchers.version is not None:
            matcher._published[Snapshots(url).place] = matchers.version
        return matcher

    @classmethod
    def opened(cls, event_type: EventType, segments: Iterable[tuple[Segment, Any]], **settings: Any) -> Matcher:
        """A matcher of published segments, each with its dead slots; other arguments are those of `Matcher`."""
        matcher = cls(event_type, **settings)
        living: list[LiveSegment] = []
        for segment, dead in segments:
            living.append(opened(segment, matcher.engine, matcher._build))
            if len(dead):
                living[-1].kill(dead, 0)
        matcher._collection = Collection(matcher._build, living)
        return matcher

    def merge(self) -> None:
        """Make one segment of all, without what was removed."""
        self._collection.merge()

    # --- inside ------------------------------------------------------------------------------------------

    def _compile(self, condition: str | Condition) -> Condition:
        if isinstance(condition, Condition):
            return condition
        return compile_condition(condition, self.event_type, self.limits)

    def _compile_many(self, conditions: Sequence[str | None] | pa.Array) -> Sequence[Formula | ConditionError]:
        if len(conditions) >= _WORTH_BULK:
            return compile_conditions(conditions, self.event_type, self.limits)
        texts = conditions.to_pylist() if isinstance(conditions, pa.Array) else conditions
        return [compiled_alone(text, self.event_type, self.limits) for text in texts]

    def _build(self, forest: Forest) -> Index:
        name = self.engine
        if self._chooses:
            choice = choose(forest, self.statistics)
            name = choice.engine
            if self._choice is None or len(forest) >= self._choice.subscriptions:
                self._choice = choice  # the largest segment decides what is said of the matcher
        return ENGINES[name].build(forest, self.statistics)

    def _add(self, columns: Columns, formulas: Sequence[Formula | ConditionError]) -> list[Refusal]:
        """Add what is neither refused nor taken."""
        places = formulas.refused if isinstance(formulas, FormulaColumn) else range(len(formulas))
        reasons = {place: formulas[place] for place in places if isinstance(formulas[place], ConditionError)}
        errors: dict[int, TamisError] = {
            place: error for place, error in reasons.items() if isinstance(error, ConditionError)
        }
        forest = forest_of(formulas) if isinstance(formulas, FormulaColumn) else None
        with self._collection.lock:
            for place in np.flatnonzero(self._collection.taken(columns.ids)).tolist():
                errors.setdefault(place, _taken(columns.ids[place].as_py()))
            keep = np.ones(len(columns), np.bool_)
            keep[list(errors)] = False
            if forest is None:
                for place in np.flatnonzero(keep).tolist():
                    formula = formulas[place]
                    assert isinstance(formula, Formula), "refused ones are left out"
                    self._collection.append(columns.subscription(place), formula)
            elif keep.any():
                self._collection.append_many(columns, forest, np.flatnonzero(keep))
        self._collection.tidy()
        return [Refusal(columns.ids[place].as_py(), errors[place]) for place in sorted(errors)]

    def _scheduled(
        self, batch: EventBatch, schedule: Schedule, width: int | None, finish: Callable[[Places, Pairs], T]
    ) -> Iterator[Done[T]]:
        """What `finish` makes of the pairs of each part of a batch, all of the version that is the newest now."""
        check_schedule(schedule, width)
        state, frame = self._begin(batch)
        self._scheduler.updated(self._collection.updates)
        pool = self._pool if frame.rows >= 2 * _PART_ROWS else None
        return scheduled(
            self._scheduler,
            state,
            frame,
            finish,
            schedule=schedule,
            width=width,
            pool=pool,
            manner=self._manner,
        )

    def _whole(self, rows: int) -> int:
        """Events of a part that nobody waits for: all, unless several threads share them."""
        parts = 1 if rows < 2 * _PART_ROWS else min(self.threads, rows // _PART_ROWS)
        return max(1, -(-rows // parts))

    def _begin(self, batch: EventBatch) -> tuple[State, BatchFrame]:
        """The newest version, and the events; of some batches, it is learned what events are like."""
        state, frame = self._collection.settled(), BatchFrame(batch)
        self._batches += 1
        if self._batches % _LEARN_EVERY == 1 and frame.rows and state.segments:
            largest = max(state.segments, key=len)
            self.statistics.observe(frame, [axis.attribute for axis in largest.forest.axes])
        return state, frame


def _unknown(id: str) -> SubscriptionError:
    return SubscriptionError(f"there is no subscription {id!r}")


def _taken(id: str) -> SubscriptionError:
    return SubscriptionError(f"there is already a subscription {id!r}; use replace to change it")
