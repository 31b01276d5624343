"""Which composite matches a stream should have recorded, from its batches in their order.

A stream that is killed does batches again; what it records must be as if each had been done once. What is open
belongs to a revision of a subscription, as long as the versions of the batches have it without a gap.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count
from typing import Any, TypeAlias
from zlib import crc32

from tamis import SequenceMatcher
from tamis.composite.explain import moment_of
from tamis.composite.parts import CompiledComposite, compile_composite
from tamis.composite.reference import TimedEvent, find_matches

CompositePair: TypeAlias = tuple[str, int, tuple[str, ...]]
"""Subscription, revision, and the events of a match in the order of time."""
LATENESS = timedelta(seconds=20)
_START = datetime(2026, 11, 18, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_ASKED = 3
"""Users of a run about whom the reference is asked, too: it tries all combinations of events."""


def composite_condition(chance: random.Random) -> str:
    """A composite subscription to the events of `moment_and_user`, which also have `a` and `b`."""
    low = chance.randrange(40)
    form = chance.choice(
        (
            f"a < {low + 20} THEN b = 'y'",
            f"a < {low + 20} AS x THEN a > x.a AND b = 'x' AS y THEN a > {low}",
            f"AT_LEAST({chance.randint(2, 3)}, a BETWEEN {low} AND {low + 30})",
            f"ALL(b = 'x' AND a > {low}, b = 'y', b = 'z')",
            f"a < {low + 10} THEN NOT b = 'z'",
            f"SEQUENCE NON STRICT (b = 'x', b = 'y', a > {low})",
        )
    )
    return f"{form} WITHIN INTERVAL '{chance.choice((15, 60))}' SECOND BY user{chance.choice(('', ' FOR ALL'))}"


def moment_and_user(second: float, number: int, chance: random.Random) -> dict[str, Any]:
    """The time of an event, now and then a little or much too late, and one of a few users who soon are others."""
    behind = chance.choice((0, 0, 0, 5, 15, 60))
    moment = _START + timedelta(seconds=int(second) - behind)
    return {"time": moment.isoformat(), "user": f"u{number // 150}-{chance.randrange(10)}"}


@dataclass(slots=True)
class _Run:
    """A revision of a subscription in batches without a gap."""

    text: str
    events: list[TimedEvent] = field(default_factory=list)
    until_us: int = 0


def expected_matches(
    batches: Iterable[tuple[Sequence[Mapping[str, Any]], Mapping[str, tuple[int, str]]]], lateness: timedelta
) -> Counter[CompositePair]:
    """The matches of batches: the events of each, and the revisions and texts that it meets, by id."""
    running: dict[tuple[str, int], _Run] = {}
    over: list[tuple[str, int, _Run]] = []
    watermark_us: int | None = None
    numbers = count()
    for events, held in batches:
        timed = sorted((_us(each["time"]), each["id"], each) for each in events)
        taken = [
            TimedEvent(time_us, next(numbers), event)
            for time_us, _, event in timed
            if watermark_us is None or time_us >= watermark_us
        ]
        reached = [time_us - lateness // _MICROSECOND for time_us, *_ in timed[-1:]]
        watermark_us = max([*reached, *([] if watermark_us is None else [watermark_us])], default=None)
        wanted = {(id, revision): text for id, (revision, text) in held.items()}
        over += [(*key, running.pop(key)) for key in [*running] if key not in wanted]
        for key, text in wanted.items():
            run = running.setdefault(key, _Run(text))
            run.events += taken
            run.until_us = watermark_us or 0
    over += [(*key, run) for key, run in running.items()]
    return Counter(pair for id, revision, run in over for pair in _matches(id, revision, run, lateness))


def match_of(id: str, revision: int, attributes: Any) -> CompositePair:
    """What a notification says of a match."""
    told = json.loads(attributes) if isinstance(attributes, str) else attributes
    return id, revision, tuple(each["id"] for each in told["events"])


def _matches(id: str, revision: int, run: _Run, lateness: timedelta) -> list[CompositePair]:
    """The matches of one process that nobody kills; those of some users are compared with the reference."""
    matcher = SequenceMatcher(lateness=lateness)
    matcher.add(id, run.text)
    complete = [*matcher.feed([each.event for each in run.events]), *matcher.advance(moment_of(run.until_us))]
    assert not matcher.stats()["late"], "these events were taken"
    by_user: dict[str, list[tuple[str, ...]]] = {}
    for match in complete:
        by_user.setdefault(match.events[0]["user"], []).append(tuple(each["id"] for each in match.events))
    for user in sorted({each.event["user"] for each in run.events}, key=lambda user: crc32(user.encode()))[
        :_ASKED
    ]:
        own = [each for each in run.events if each.event["user"] == user]
        outcome = find_matches(_compiled(run.text), own, lateness // _MICROSECOND, until_us=run.until_us)
        expected = [tuple(each.event["id"] for each in match.events) for match in outcome.matches]
        assert sorted(expected) == sorted(by_user.get(user, [])), f"{run.text}: the matcher is not its reference"
    return [(id, revision, ids) for each in by_user.values() for ids in each]


@cache
def _compiled(text: str) -> CompiledComposite:
    return compile_composite(text)


def _us(time: str) -> int:
    return (datetime.fromisoformat(time) - datetime(1970, 1, 1, tzinfo=UTC)) // _MICROSECOND
