"""`SequenceMatcher` finds what the reference finds, wherever events are cut and it is saved and opened again."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis import ConditionError, EventError, EventType, SequenceMatcher, SnapshotError, SubscriptionError
from tamis.composite import open_matches
from tamis.composite.parts import compile_composite
from tamis.composite.reference import TimedEvent, find_matches

TYPED = EventType.of({"name": "offer", "attributes": {"kind": "string", "price": "int", "item": "string"}})
CONDITIONS = ("kind = 'a'", "kind = 'b'", "kind IN ('a', 'c')", "price > 2", "price <= 3 AND kind <> 'c'")
JOINT = (
    "price > x.price",
    "price < x.price AND kind = 'b'",
    "y.price = x.price + 1",
    "kind = x.kind OR price = 0",
)
SECOND = 1_000_000


def interval(seconds: int) -> str:
    return f"INTERVAL '{seconds}' SECOND"


@st.composite
def composites(draw: st.DrawFn) -> str:
    condition = st.sampled_from(CONDITIONS)
    form = draw(
        st.sampled_from(("SEQUENCE", "SEQUENCE NON STRICT", "ALL", "AT_LEAST", "THEN", "THEN NOT", "joint"))
    )
    within = draw(st.integers(2, 8))
    parts = draw(st.lists(condition, min_size=2, max_size=3))
    gap = draw(st.sampled_from(("", "", f" AFTER {interval(2)}")))
    if form == "AT_LEAST":
        text = f"AT_LEAST({draw(st.integers(2, 3))}, {parts[0]})"
    elif form == "THEN":
        text = " THEN ".join(parts) + gap
    elif form == "THEN NOT":
        absent = draw(st.sampled_from((*CONDITIONS, "price > x.price")))
        text = " THEN ".join([f"{parts[0]} AS x", *parts[2:]]) + f" THEN NOT {absent}" + gap
    elif form == "joint":
        later = draw(st.sampled_from(JOINT))
        last = draw(st.sampled_from(("", " THEN kind = 'c'", " THEN price > x.price AND price > y.price")))
        text = f"{parts[0]} AS x THEN {later} AS y{gap}{last}"
    else:
        text = f"{form} ({', '.join(parts)}{gap if form != 'ALL' else ''})"
    by = draw(st.sampled_from(("", " BY item")))
    return f"{text} WITHIN {interval(within)}{by}{draw(st.sampled_from(('', ' FOR OLDEST', ' FOR ALL')))}"


@st.composite
def event_lists(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Mostly in the order of time, with equal times, steps back, and some events twice."""
    clock, events = 10, []
    for number in range(draw(st.integers(0, 14))):
        clock += draw(st.sampled_from((0, 0, 1, 1, 1, 2, 3)))
        events.append(
            {
                "time": clock - draw(st.sampled_from((0, 0, 0, 0, 1, 2, 5))),
                "id": f"e{number}",
                "kind": draw(st.sampled_from(("a", "b", "c"))),
                "price": draw(st.sampled_from((None, 0, 1, 2, 3, 4))),
                "item": draw(st.sampled_from(("p", "p", "q", None))),
            }
        )
        if draw(st.integers(0, 7)) == 0:
            events.append(draw(st.sampled_from(events)))
    return events


def expected(
    text: str, event_type: EventType | None, events: list[dict[str, Any]], lateness: int, until: int
) -> tuple[list[Any], int, int]:
    timed = [TimedEvent(each["time"] * SECOND, number, each, each["id"]) for number, each in enumerate(events)]
    composite = compile_composite(text, event_type)
    outcome = find_matches(composite, timed, lateness * SECOND, until * SECOND)
    matches = [(match.time_us, [each.event["id"] for each in match.events]) for match in outcome.matches]
    return matches, outcome.late, outcome.repeated


@pytest.mark.slow
@settings(max_examples=250, deadline=None)
@given(
    texts=st.lists(composites(), min_size=1, max_size=3),
    events=event_lists(),
    lateness=st.integers(0, 3),
    cuts=st.lists(st.integers(1, 5), max_size=8),
    saved_at=st.integers(0, 4),
    is_typed=st.booleans(),
    least_for_kernel=st.sampled_from((1, 1000)),
)
def test_matches_are_those_of_the_reference(
    texts: list[str],
    events: list[dict[str, Any]],
    lateness: int,
    cuts: list[int],
    saved_at: int,
    is_typed: bool,
    least_for_kernel: int,
) -> None:
    with patch.object(open_matches, "LEAST_FOR_KERNEL", least_for_kernel):
        _check_matches(texts, events, lateness, cuts, saved_at, TYPED if is_typed else None)


def _check_matches(
    texts: list[str],
    events: list[dict[str, Any]],
    lateness: int,
    cuts: list[int],
    saved_at: int,
    event_type: EventType | None,
) -> None:
    matcher = SequenceMatcher(event_type, lateness=timedelta(seconds=lateness))
    for number, text in enumerate(texts):
        matcher.add(f"s{number}", text)
    found = []
    rest = list(events)
    for place, width in enumerate([*cuts, len(rest)]):
        found += matcher.feed(rest[:width], event_id="id")
        rest = rest[width:]
        if place == saved_at:
            with TemporaryDirectory() as folder:
                matcher.save(Path(folder) / "state.json")
                matcher = SequenceMatcher.open(Path(folder) / "state.json")
    until = max((each["time"] for each in events), default=0) + 3
    found += matcher.advance(until)
    for number, text in enumerate(texts):
        own = [
            (round(match.time.timestamp() * SECOND), [each["id"] for each in match.events])
            for match in found
            if match.subscription_id == f"s{number}"
        ]
        matches, late, repeated = expected(text, event_type, events, lateness, until)
        assert own == matches, text
        assert (matcher.stats()["late"], matcher.stats()["repeated"]) == (late, repeated)
    times = [match.time for match in found]
    assert times == sorted(times)


def kinds(matcher: SequenceMatcher, events: list[tuple[float, str]]) -> list[list[str]]:
    fed = [{"time": time, "kind": kind} for time, kind in events]
    return [[each["kind"] + str(each["time"]) for each in match.events] for match in matcher.feed(fed)]


@pytest.mark.parametrize(
    ("text", "events", "matches"),
    [
        ("kind = 'a' THEN kind = 'b'", "a0 a1 b2 b3", ["a0 b2", "a1 b3"]),
        ("kind = 'a' THEN kind = 'b' FOR ALL", "a0 a1 b2 b3", ["a0 b2", "a1 b2"]),
        ("kind = 'a' THEN kind = 'b'", "a0 b0 b10", ["a0 b10"]),
        ("kind = 'a' THEN kind = 'b'", "a0 b11", []),
        ("SEQUENCE NON STRICT (kind = 'a', kind = 'b')", "b0 a0 b0", ["a0 b0"]),
        ("kind = 'a' THEN kind = 'b' AFTER INTERVAL '3' SECOND", "a0 b2 b3", ["a0 b3"]),
        ("SEQUENCE(kind = 'a', kind = 'b', kind = 'c')", "a0 a5 b9 c12", ["a5 b9 c12"]),
        ("ALL(kind IN ('a', 'b'), kind = 'a')", "a0 b1", ["a0 b1"]),
        ("AT_LEAST(3, kind = 'a')", "a0 a1 a2 a3", ["a0 a1 a2"]),
        ("AT_LEAST(3, kind = 'a') FOR ALL", "a0 a1 a2 a3", ["a0 a1 a2", "a1 a2 a3"]),
        ("AT_LEAST(3, kind = 'a')", "a0 a9 a12 a13", ["a9 a12 a13"]),
        ("kind = 'a' THEN NOT kind = 'b'", "a0 b10 c11", []),
        ("kind = 'a' THEN NOT kind = 'b'", "a0 c10 b11", ["a0"]),
        ("kind = 'a' THEN NOT kind = 'b'", "a0 a1 b2 c20", ["a1"]),
        ("kind = 'a' THEN NOT kind = 'b' FOR ALL", "a0 a1 b2 c20", []),
        ("kind = 'a' THEN NOT kind = 'a'", "a0 a5 a10 c21", ["a10"]),
        ("kind = 'a' THEN NOT FALSE", "a0 b1 a2 c20", ["a0", "a2"]),
        ("kind = 'a' THEN kind = 'b' THEN NOT kind = 'c'", "a0 b1 a2 b3 c4 x20", ["a2 b3"]),
    ],
)
def test_what_the_rule_means(text: str, events: str, matches: list[str]) -> None:
    condition, _, consumption = text.partition(" FOR ")
    matcher = SequenceMatcher()
    matcher.add("s", f"{condition} WITHIN {interval(10)}{' FOR ' + consumption if consumption else ''}")
    found = kinds(matcher, [(int(event[1:]), event[0]) for event in events.split()])
    assert [" ".join(match) for match in found] == matches


def test_a_later_part_refers_to_an_earlier_one() -> None:
    matcher = SequenceMatcher(TYPED)
    matcher.add("drop", "price > 100 AS a THEN b.price < 0.9 * a.price AS b WITHIN INTERVAL '1' HOUR BY item")
    offers = [(1, 110, "p"), (2, 200, "q"), (3, 105, "p"), (4, 98, "p")]
    found = matcher.feed([{"time": time, "price": price, "item": item} for time, price, item in offers])
    assert [(match.key, [each["price"] for each in match.events]) for match in found] == [(("p",), [110, 98])]


def test_what_must_not_come_ends_the_match_that_began_first() -> None:
    matcher = SequenceMatcher()
    text = "kind = 'a' AS x THEN kind = 'b' AND price = x.price THEN NOT kind = 'c'"
    matcher.add("s", f"{text} WITHIN {interval(10)}")
    events = [("a", 1), ("a", 2), ("b", 2), ("b", 1), ("c", 0)]
    matcher.feed([{"time": time, "kind": kind, "price": price} for time, (kind, price) in enumerate(events)])
    assert [match.events[0]["price"] for match in matcher.advance(60)] == [2]


def test_deadlines_of_equal_time_complete_in_the_order_of_arrival() -> None:
    matcher = SequenceMatcher()
    matcher.add("s", f"kind = 'a' THEN NOT kind = 'b' WITHIN {interval(10)} BY item")
    matcher.feed([{"time": 0, "kind": "a", "item": item} for item in "qrp"])
    assert [match.key for match in matcher.advance(11)] == [("q",), ("r",), ("p",)]


def test_an_event_that_comes_again_after_opening_is_known(tmp_path: Path) -> None:
    matcher = SequenceMatcher()
    matcher.add("s", f"AT_LEAST(2, kind = 'a') WITHIN {interval(10)}")
    event = {"time": 0, "kind": "a", "id": 7}
    assert matcher.feed(event, event_id="id") == []
    matcher.save(tmp_path / "state.json")
    opened = SequenceMatcher.open(tmp_path / "state.json")
    assert opened.feed(event, event_id="id") == []
    assert opened.stats()["repeated"] == 1
    assert len(opened.feed({**event, "id": 8}, event_id="id")) == 1


def test_equal_parts_are_one_subscription_until_the_last_user_leaves() -> None:
    matcher = SequenceMatcher()
    matcher.add("one", f"kind = 'a' THEN kind = 'b' WITHIN {interval(5)}")
    matcher.add("two", f"ALL(kind='a', kind = 'c') WITHIN {interval(9)}")
    assert matcher.stats()["parts"] == 3
    matcher.feed({"time": 0, "kind": "a"})
    matcher.remove("one")
    assert matcher.stats()["parts"] == 2
    assert "one" not in matcher
    assert len(matcher) == 1
    assert [match.subscription_id for match in matcher.feed({"time": 20, "kind": "c"})] == []
    assert matcher.stats()["kept"] == 1


def test_a_subscription_sees_only_what_comes_after_it() -> None:
    matcher = SequenceMatcher()
    matcher.feed({"time": 0, "kind": "a"})
    matcher.add("s", f"kind = 'a' THEN kind = 'b' WITHIN {interval(5)}")
    assert matcher.feed({"time": 1, "kind": "b"}) == []


def test_state_is_bounded_and_what_is_dropped_is_counted() -> None:
    matcher = SequenceMatcher(most_per_key=2, most_per_subscription=3)
    matcher.add("s", f"kind = 'a' THEN kind = 'b' WITHIN {interval(100)} BY item FOR ALL")
    matcher.feed([{"time": time, "kind": "a", "item": item} for time, item in enumerate("pppqq")])
    stats = matcher.stats()
    assert (stats["kept"], stats["dropped"], stats["keys"]) == (3, 2, 2)
    found = matcher.feed({"time": 9, "kind": "b", "item": "p"})
    assert [match.events[0]["time"] for match in found] == [0, 1]
    assert matcher.advance(300) == []
    assert (matcher.stats()["kept"], matcher.stats()["keys"]) == (0, 0)


def test_a_match_that_waits_counts_against_the_bound() -> None:
    matcher = SequenceMatcher(most_per_key=1)
    matcher.add("s", f"kind = 'a' THEN NOT kind = 'b' WITHIN {interval(10)}")
    assert kinds(matcher, [(0, "a"), (1, "a"), (30, "c")]) == [["a0"]]
    assert matcher.stats()["dropped"] == 1


def test_a_search_with_too_many_tries_is_abandoned_and_counted() -> None:
    matcher = SequenceMatcher(most_tries=20)
    matcher.add("s", f"price >= 0 AS x THEN price > x.price AS y THEN price > 9 + y.price WITHIN {interval(99)}")
    assert matcher.feed([{"time": time, "price": time} for time in range(9)]) == []
    assert matcher.stats()["abandoned"] > 0


def test_keeping_nothing_that_can_take_no_part() -> None:
    matcher = SequenceMatcher()
    matcher.add("s", f"kind = 'a' THEN kind = 'b' THEN kind = 'c' WITHIN {interval(5)}")
    matcher.feed([{"time": time, "kind": kind} for time, kind in enumerate("bcbcbc")])
    assert matcher.stats()["kept"] == 0


def test_times_are_datetimes_texts_or_seconds() -> None:
    matcher = SequenceMatcher()
    matcher.add("s", f"kind = 'a' THEN kind = 'b' WITHIN {interval(5)}")
    text = [{"at": "1970-01-01T01:00:00+01:00", "kind": "a"}]
    assert matcher.feed(text, time="at") == []
    [match] = matcher.feed(pa.table({"at": pa.array([2_500_000], pa.timestamp("us")), "kind": ["b"]}), time="at")
    assert match.time.isoformat() == "1970-01-01T00:00:02.500000+00:00"


@pytest.mark.parametrize("time", [None, "yesterday", True, float("nan"), 1e300])
def test_an_event_without_a_time_is_refused_and_nothing_is_taken(time: Any) -> None:
    matcher = SequenceMatcher()
    with pytest.raises(EventError, match="event 1: expected a time"):
        matcher.feed([{"time": 1}, {"time": time}])
    assert matcher.stats()["taken"] == 0


def test_events_are_dicts() -> None:
    with pytest.raises(EventError, match="event 0: expected a dict, found str"):
        SequenceMatcher().feed(["a"])


def test_ids_are_unique_and_known() -> None:
    matcher = SequenceMatcher()
    text = f"a THEN b WITHIN {interval(5)}"
    matcher.add("s", text)
    with pytest.raises(SubscriptionError):
        matcher.add("s", text)
    with pytest.raises(SubscriptionError):
        matcher.add("", text)
    for unknown in (matcher.remove, matcher.explain):
        with pytest.raises(SubscriptionError):
            unknown("t")
    with pytest.raises(ValueError, match="at least 1"):
        SequenceMatcher(most_per_key=0)


def test_more_events_than_a_key_keeps_are_refused() -> None:
    matcher = SequenceMatcher(most_per_key=10)
    matcher.add("eleven", f"AT_LEAST(11, a) WITHIN {interval(5)}")
    with pytest.raises(ConditionError) as refused:
        matcher.add("twelve", f"AT_LEAST(12, a) WITHIN {interval(5)}")
    [problem] = refused.value.problems
    assert (problem.start, problem.end) == (9, 11)


def test_the_order_of_calls_is_that_of_the_parts(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nonsense"):
        SequenceMatcher(call_order="nonsense")
    matcher = SequenceMatcher(call_order="sequential")
    matcher.add("s", "kind = 'a' THEN kind = 'b' WITHIN INTERVAL '10' SECOND")
    matcher.save(tmp_path / "state.json")
    opened = SequenceMatcher.open(tmp_path / "state.json", call_order="sequential")
    assert kinds(opened, [(0, "a"), (1, "b")]) == [["a0", "b1"]]
    with pytest.raises(ValueError, match="nonsense"):
        SequenceMatcher.open(tmp_path / "state.json", call_order="nonsense")


def test_a_refusal_leaves_nothing_behind() -> None:
    matcher = SequenceMatcher(TYPED)
    with pytest.raises(ConditionError):
        matcher.add("s", f"kind = 'a' THEN colour = 'b' WITHIN {interval(5)}")
    assert (len(matcher), matcher.stats()["parts"]) == (0, 0)


def test_a_file_that_is_no_state_is_refused(tmp_path: Path) -> None:
    (tmp_path / "damaged.json").write_text('{"format": "tamis composite state", "version": 2}', "utf-8")
    with pytest.raises(SnapshotError) as refused:
        SequenceMatcher.open(tmp_path / "damaged.json")
    assert refused.value.kind == "damaged"


def test_the_names_are_public() -> None:
    assert tamis.SequenceMatcher is SequenceMatcher
    assert {"SequenceMatcher", "CompositeMatch"} <= set(tamis.__all__)
