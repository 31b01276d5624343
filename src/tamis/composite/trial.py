"""Trials: what a composite subscription finds in a list of events, and why it does not find more.

For test cases, explanations and conditions that are not subscribed yet. Events are considered in the order of
time, and time moves on to the last of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis.composite.explain import CompositeExplanation
from tamis.composite.matcher import CompositeMatch, SequenceMatcher, event_times
from tamis.events.event_type import EventType
from tamis.limits import DEFAULT_LIMITS, Limits


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of some events.

    Attributes:
        matches: The completed matches, in order.
        open: By key, what is open at the end, and which matches were not completed.
    """

    matches: list[CompositeMatch]
    open: dict[tuple[Any, ...], CompositeExplanation]

    def to_dict(self) -> dict[str, Any]:
        """The trial as JSON has it."""
        told: dict[str, list[dict[str, Any]]] = {
            "matches": [
                {"key": [*each.key], "time": each.time.isoformat(), "events": [*each.events]}
                for each in self.matches
            ]
        }
        for name in ("open", "ended"):
            told[name] = [
                {
                    "key": [*key],
                    "found": each.reached,
                    "until": each.until.isoformat(),
                    "reason": each.reason,
                    "first": dict(each.first),
                }
                for key, explanation in self.open.items()
                for each in getattr(explanation, name)
            ]
        return told

    def __str__(self) -> str:
        lines = [
            f"complete{_of(each.key)}: {len(each.events)} found, at {each.time:%Y-%m-%d %H:%M:%S}"
            for each in self.matches
        ]
        for key, explanation in self.open.items():
            lines += [f"open{_of(key)}: {each}" for each in explanation.open]
            lines += [f"ended{_of(key)}: {each}" for each in explanation.ended]
        return "\n".join(lines) or "no event satisfies a part that could begin it"


def try_composite(
    text: str,
    events: Sequence[Mapping[str, Any]],
    event_type: EventType | None = None,
    *,
    time: str = "time",
    limits: Limits = DEFAULT_LIMITS,
    key: Mapping[str, Any] | None = None,
) -> Trial:
    """Let events come to one composite subscription.

    Args:
        text: The subscription.
        events: In any order.
        event_type: What they are.
        time: The attribute with their times.
        limits: Of conditions.
        key: An event; only its key is explained.

    Raises:
        ConditionError: The subscription is refused.
        EventError: An event has no time.
    """
    matcher = SequenceMatcher(event_type, limits=limits)
    matcher.add("it", text)
    order = np.argsort(event_times(events, time), kind="stable")
    matches = matcher.feed([events[place] for place in order.tolist()], time=time)
    paths = matcher.composite("it").keys
    found: dict[tuple[Any, ...], CompositeExplanation] = {}
    for event in [events[place] for place in order.tolist()] if key is None else [key]:
        values = tuple(_value(event, path) for path in paths)
        shown = tuple(map(repr, values)) if any(isinstance(each, (dict, list)) for each in values) else values
        if None not in values and shown not in found:
            explanation = matcher.explain("it", event)
            if explanation.open or explanation.ended:
                found[shown] = explanation
    return Trial(
        [each for each in matches if key is None or each.key == tuple(_value(key, p) for p in paths)], found
    )


def _value(event: Any, path: Sequence[str]) -> Any:
    for step in path:
        event = event.get(step) if isinstance(event, Mapping) else None
    return event


def _of(key: tuple[Any, ...]) -> str:
    return f" for {', '.join(map(str, key))}" if key else ""
