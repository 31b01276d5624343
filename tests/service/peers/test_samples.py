"""What the events of a site are like: a sample of each type, read again when it is due."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tamis.events import EventType
from tamis.formulas.predicates.within import Within
from tamis.language.condition import normalise
from tamis.service.inbox import Inbox
from tamis.service.peers.samples import EventSamples
from tests.service.living import arrival

TYPE = EventType.from_dict({"name": "t/event", "attributes": {"n": "int"}})


class Clock:
    """Time that passes when a test says so."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def inbox(url: str) -> Iterator[Inbox]:
    opened = Inbox(url)
    yield opened
    opened.close()


def numbers_in(samples: EventSamples, event_type: EventType = TYPE) -> list[int]:
    predicate = normalise("n = 1", event_type).predicate
    assert isinstance(predicate, Within)
    columns = [frame.column(predicate.attribute) for frame in samples.of(event_type)]
    return [int(value) for column in columns for value in column.values[column.valid]]


def accept(inbox: Inbox, *numbers: int, tenant: str = "t") -> None:
    inbox.append([arrival(tenant, f"e{number}", {"n": number}) for number in numbers])


def test_a_sample_has_the_events_of_its_type_only(inbox: Inbox) -> None:
    accept(inbox, 1, 2, 3)
    accept(inbox, 7, tenant="u")
    assert numbers_in(EventSamples(inbox)) == [1, 2, 3]
    other = EventType.from_dict({"name": "t/other", "attributes": {"n": "int"}})
    assert numbers_in(EventSamples(inbox), other) == []


def test_new_events_are_taken_in_when_the_sample_is_due(inbox: Inbox) -> None:
    clock = Clock()
    samples = EventSamples(inbox, clock)
    accept(inbox, 1)
    first = samples.of(TYPE)
    accept(inbox, 2)
    clock.seconds = 59.0
    assert samples.of(TYPE) is first
    clock.seconds = 60.0
    assert numbers_in(samples) == [1, 2]
    clock.seconds = 120.0
    second = samples.of(TYPE)
    clock.seconds = 180.0
    assert samples.of(TYPE) is second, "nothing new, so whoever learned from it need not learn again"


def test_a_type_that_has_changed_is_read_anew(inbox: Inbox) -> None:
    samples = EventSamples(inbox, Clock())
    accept(inbox, 1)
    assert numbers_in(samples) == [1]
    other = EventType.from_dict({"name": "t/event", "attributes": {"n": "bigint"}})
    assert numbers_in(samples, other) == [1]


def test_an_event_that_does_not_fit_is_in_the_sample_with_null(inbox: Inbox) -> None:
    inbox.append([arrival("t", "a", {"n": "many"}), arrival("t", "b", {"n": 4})])
    samples = EventSamples(inbox)
    assert sum(frame.rows for frame in samples.of(TYPE)) == 2
    assert numbers_in(samples) == [4]
