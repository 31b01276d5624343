"""The matcher: subscriptions in, pairs out.

It owns ids, slots and revisions; engines see slots only. Adding, replacing and removing are atomic: a match sees
each subscription entirely as it was before or after a change. All methods may be called from several threads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from tamis.engines import AUTO, ENGINES
from tamis.engines.base import Matches
from tamis.errors import ConditionError, SubscriptionError, TamisError
from tamis.events.batch import EventBatch
from tamis.events.event_type import EventType
from tamis.explain import Explanation, explain
from tamis.language.bulk import compile_conditions, compiled_alone
from tamis.language.condition import Condition, compile_condition
from tamis.language.formula import Formula
from tamis.limits import DEFAULT_LIMITS, Limits

Events: TypeAlias = Any
"""A dict, a list of dicts, or anything that speaks Arrow."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A standing condition.

    Attributes:
        id: Chosen by whoever registers it.
        condition: Its text.
        priority: Higher ones are reported first by `Matcher.match`.
        owner: Whose it is, for the owner's own use.
        revision: 1 when added, one more with each replacement.
    """

    id: str
    condition: str
    priority: int = 0
    owner: str | None = None
    revision: int = 1


@dataclass(frozen=True, slots=True)
class Refusal:
    """A subscription that was not taken, and why."""

    id: str
    error: TamisError


_WORTH_BULK = 100
"""Number of conditions from which the bulk compiler repays loading its kernels."""


class Matcher:
    """Holds subscriptions to one event type and finds those that events satisfy.

    >>> matcher = Matcher()
    >>> matcher.add("camera-1", "price < 300 and brand in ('Sony', 'Nikon')")
    >>> matcher.match({"price": 199, "brand": "Sony"})
    ['camera-1']
    """

    def __init__(self, event_type: Any = None, engine: str = "auto", *, limits: Limits = DEFAULT_LIMITS) -> None:
        """Make an empty matcher.

        Args:
            event_type: Anything that `EventType.of` takes; None for schemaless events.
            engine: A name of `tamis.engines.ENGINES`, or "auto".
            limits: What a condition may ask for.
        """
        name = AUTO if engine == "auto" else engine
        if name not in ENGINES:
            msg = f"there is no engine {engine!r}; known are auto, {', '.join(sorted(ENGINES))}"
            raise ValueError(msg)
        self.event_type = EventType.of(event_type)
        self.engine = name
        self.limits = limits
        self._index = ENGINES[name].build([])
        self._subscriptions: list[Subscription | None] = []
        self._slots: dict[str, int] = {}
        self._free: list[int] = []
        self._lock = threading.RLock()

    # --- subscriptions -----------------------------------------------------------------------------------

    def add(self, id: str, condition: str, *, priority: int = 0, owner: str | None = None) -> None:
        """Register a condition under a new id.

        Raises:
            ConditionError: The condition is refused; the error has all its problems.
            SubscriptionError: The id is taken.
        """
        compiled = self._compile(condition)
        with self._lock:
            self._check_new(id)
            self._insert(Subscription(id, condition, priority, owner), compiled.formula)

    def add_many(self, subscriptions: Iterable[Any] | pa.Table) -> list[Refusal]:
        """Register many; those that are refused come back with their reasons, the others are added.

        Args:
            subscriptions: Pairs (id, condition), mappings or `Subscription`s, or an Arrow table with columns
                `id` and `condition` and, if there, `priority` and `owner`.
        """
        given = list(_subscriptions(subscriptions))
        compiled = self._compile_many([each.condition for each in given])
        refused: list[Refusal] = []
        with self._lock:
            for subscription, formula in zip(given, compiled, strict=True):
                if isinstance(formula, ConditionError):
                    refused.append(Refusal(subscription.id, formula))
                elif subscription.id in self._slots:
                    refused.append(Refusal(subscription.id, _taken(subscription.id)))
                else:
                    self._insert(subscription, formula)
        return refused

    def replace(self, id: str, condition: str, *, priority: int | None = None, owner: str | None = None) -> None:
        """Give a subscription another condition, as its next revision; what is not given stays as it was."""
        compiled = self._compile(condition)
        with self._lock:
            old = self._subscription(id)
            self._delete(id)
            new = Subscription(
                id,
                condition,
                old.priority if priority is None else priority,
                old.owner if owner is None else owner,
                old.revision + 1,
            )
            self._insert(new, compiled.formula)

    def remove(self, id: str) -> None:
        """Forget a subscription."""
        with self._lock:
            self._subscription(id)
            self._delete(id)

    def subscription(self, id: str) -> Subscription:
        """The subscription of that id; raises SubscriptionError if there is none."""
        with self._lock:
            return self._subscription(id)

    def __len__(self) -> int:
        """Number of subscriptions."""
        return len(self._slots)

    def __contains__(self, id: object) -> bool:
        """Is there a subscription of that id?"""
        return id in self._slots

    def __iter__(self) -> Iterator[Subscription]:
        """All subscriptions."""
        with self._lock:
            return iter([self._subscription(id) for id in self._slots])

    # --- events ------------------------------------------------------------------------------------------

    def match(self, event: Mapping[str, Any]) -> list[str]:
        """The ids of the subscriptions that one event satisfies, those of higher priority first."""
        batch = EventBatch.of(event, self.event_type)
        with self._lock:
            found = [self._subscriptions[slot] for slot in self._index.match(batch).slots]
        known = [subscription for subscription in found if subscription is not None]
        return [subscription.id for subscription in sorted(known, key=lambda each: -each.priority)]

    def match_batch(self, events: Events, *, event_id: str | None = None) -> pa.Table:
        """All pairs of an event and a subscription that it satisfies.

        Args:
            events: A list of dicts, a pandas data frame, or anything with the Arrow PyCapsule interface.
            event_id: The attribute whose value names the event; its row number otherwise.

        Returns:
            A table with columns `event_id` and `subscription_id`, in the order of the events.
        """
        return self.pairs(EventBatch.of(events, self.event_type, event_id=event_id))

    def pairs(self, batch: EventBatch) -> pa.Table:
        """As `match_batch`, of a batch that was read before."""
        with self._lock:
            found: Matches = self._index.match(batch)
            used, places = np.unique(found.slots, return_inverse=True)
            ids = [subscription.id if (subscription := self._subscriptions[slot]) else None for slot in used]
        subscription_ids = pa.array(ids, pa.string()).take(pa.array(places, pa.int64()))
        event_ids = batch.ids.take(pa.array(found.rows))
        return pa.table({"event_id": event_ids, "subscription_id": subscription_ids})

    def explain(self, id: str, event: Mapping[str, Any] | EventBatch) -> Explanation:
        """Why an event satisfies a subscription, or why not."""
        subscription = self.subscription(id)
        batch = event if isinstance(event, EventBatch) else EventBatch.of(event, self.event_type)
        return explain(self._compile(subscription.condition), batch, subscription_id=id)

    def stats(self) -> dict[str, Any]:
        """What the matcher holds: the engine, counts, and bytes by structure."""
        with self._lock:
            counts, sizes = self._index.stats()
        return {"engine": self.engine, "event_type": self.event_type.name, **counts, "bytes": sizes}

    # --- inside ------------------------------------------------------------------------------------------

    def _compile(self, condition: str) -> Condition:
        return compile_condition(condition, self.event_type, self.limits)

    def _compile_many(self, conditions: list[str]) -> Sequence[Formula | ConditionError]:
        if len(conditions) >= _WORTH_BULK:
            return compile_conditions(conditions, self.event_type, self.limits)
        return [compiled_alone(condition, self.event_type, self.limits) for condition in conditions]

    def _check_new(self, id: str) -> None:
        if id in self._slots:
            raise _taken(id)

    def _subscription(self, id: str) -> Subscription:
        slot = self._slots.get(id)
        subscription = None if slot is None else self._subscriptions[slot]
        if subscription is None:
            msg = f"there is no subscription {id!r}"
            raise SubscriptionError(msg)
        return subscription

    def _insert(self, subscription: Subscription, formula: Formula) -> None:
        if self._free:
            slot = self._free.pop()
            self._subscriptions[slot] = subscription
        else:
            slot = len(self._subscriptions)
            self._subscriptions.append(subscription)
        self._slots[subscription.id] = slot
        self._index.insert(slot, formula)

    def _delete(self, id: str) -> None:
        slot = self._slots.pop(id)
        self._index.delete(slot)
        self._subscriptions[slot] = None
        self._free.append(slot)


def _taken(id: str) -> SubscriptionError:
    return SubscriptionError(f"there is already a subscription {id!r}; use replace to change it")


def _subscriptions(given: Any) -> Iterator[Subscription]:
    if hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__"):
        given = pa.table(given).to_pylist()
    for each in given:
        if isinstance(each, Subscription):
            yield each
        elif isinstance(each, Mapping):
            owner = each.get("owner")
            yield Subscription(str(each["id"]), each["condition"], int(each.get("priority") or 0), owner)
        else:
            id, condition = each
            yield Subscription(id, condition)
