"""Conditions that call operators: the pairs of the reference, with as few calls as promised."""

import functools
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tamis import EventBatch, EventType, Matcher, compile_condition
from tamis.engines import ENGINES
from tamis.operators import Operator, install, uninstall
from tamis.operators.meters import BREAK_AFTER, meter, reset_meters
from tamis.reference import matches
from tamis.schedule.scheduler import Schedule
from tamis.values.types import BIGINT, BOOLEAN
from tamis.verification.search import known_orders
from tests.engines.test_engines import marked
from tests.operators.recording import Recorded

pytestmark = pytest.mark.usefixtures("form")

TYPE = EventType.of({"attributes": {"n": "bigint", "m": "int", "s": "string", "tags": "array<bigint>"}})

LEAVES = (
    *("n > {k}", "m = {k}", "m IS NULL", "s LIKE '%{k}%'"),
    *("remainder(n, {d}) = {r}", "remainder(n, {d}) > {r}", "remainder(m, {d}) IN (0, {r})"),
    *("is_square(n)", "is_square(m)", "is_square(n + m)", "is_square(remainder(n, {d}))"),
    *("shout(s) = 'A{r}!'", "shout(s) LIKE '%{r}!'", "shout(s) IS NULL"),
    *("fragile(n) < {k}", "fragile(n) IS NULL", "coalesce(fragile(n), {k}) = {r}"),
    *("remainder(n, {d}) + remainder(m, {d}) > {r}", "exists(tags, t -> is_square(t))"),
    *("forall(tags, t -> remainder(t, {d}) < {r} AND n > {k})", "n < {k} OR is_square(n)"),
)


def random_condition(rng: random.Random, depth: int = 3) -> str:
    if depth == 0 or rng.random() < 0.25:
        values = {"k": rng.randint(-5, 60), "d": rng.randint(1, 6), "r": rng.randint(0, 5)}
        return rng.choice(LEAVES).format(**values)
    parts = [random_condition(rng, depth - 1) for _ in range(rng.randint(2, 3))]
    kind = rng.random()
    if kind < 0.45:
        return " AND ".join(f"({part})" for part in parts)
    if kind < 0.8:
        return " OR ".join(f"({part})" for part in parts)
    if kind < 0.9:
        return f"NOT ({parts[0]})"
    return f"AT_LEAST({rng.randint(1, len(parts))}, {', '.join(parts)})"


def random_event(rng: random.Random) -> dict[str, object]:
    def maybe(value: object) -> object:
        return None if rng.random() < 0.15 else value

    return {
        "n": maybe(rng.randint(-5, 60)),
        "m": maybe(rng.randint(-5, 60)),
        "s": maybe(f"a{rng.randint(0, 5)}"),
        "tags": maybe([rng.randint(0, 20) for _ in range(rng.randint(0, 3))]),
    }


@functools.cache
def some_case(seed: int) -> tuple[dict[str, str], EventBatch, set[tuple[int, str]]]:
    """Conditions, events and the pairs of the reference."""
    rng = random.Random(seed)
    conditions = {f"s{number}": random_condition(rng) for number in range(40)}
    batch = EventBatch.of([random_event(rng) for _ in range(30)], TYPE)
    return conditions, batch, expected(conditions, batch)


def expected(conditions: dict[str, str], batch: EventBatch) -> set[tuple[int, str]]:
    return {
        (row, name) for name, text in conditions.items() for row in matches(compile_condition(text, TYPE), batch)
    }


def found(matcher: Matcher, batch: EventBatch) -> set[tuple[int, str]]:
    table = matcher.match_batch(batch)
    return set(zip(table["event_id"].to_pylist(), table["subscription_id"].to_pylist(), strict=True))


@pytest.fixture(autouse=True)
def no_breaker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.operators.meters.BREAK_AFTER", 1 << 60)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_the_pairs_of_the_reference(recorded: Recorded, seed: int) -> None:
    conditions, batch, wanted = some_case(seed)
    assert wanted
    for strategy in known_orders():
        matcher = Matcher(TYPE, call_order=strategy)
        assert not matcher.add_many(conditions.items())
        assert found(matcher, batch) == wanted, strategy


@pytest.mark.slow
@pytest.mark.parametrize("engine", marked(ENGINES))
def test_every_engine_finds_the_pairs_of_the_reference(recorded: Recorded, engine: str) -> None:
    conditions, batch, wanted = some_case(0)
    matcher = Matcher(TYPE, engine)
    assert not matcher.add_many(conditions.items())
    assert found(matcher, batch) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_head_merges_and_snapshots_keep_what_is_to_be_decided(
    recorded: Recorded, seed: int, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    conditions, batch, wanted = some_case(seed)
    matcher = Matcher(TYPE)
    items = list(conditions.items())
    for name, text in items[:10]:
        matcher.add(name, text)
    assert found(matcher, batch) == {pair for pair in wanted if int(pair[1][1:]) < 10}
    matcher.add_many(items[10:30])
    matcher.add_many(items[30:])
    gone = [name for name, _ in items if rng.random() < 0.3]
    matcher.remove_many(gone)
    left = {pair for pair in wanted if pair[1] not in gone}
    assert found(matcher, batch) == left
    matcher.publish(tmp_path)
    assert found(Matcher.open(tmp_path), batch) == left
    matcher.merge()
    assert found(matcher, batch) == left


def test_a_call_is_made_once_an_event_whoever_shares_it(recorded: Recorded) -> None:
    matcher = Matcher(TYPE)
    matcher.add_many([(f"s{k}", f"remainder(n, 50) > {k}") for k in range(49)])
    matcher.add("one more", "remainder(n, 50) < 7 AND s IS NOT NULL")
    batch = EventBatch.of([{"n": n, "s": "x"} for n in range(100)], TYPE)
    table = matcher.match_batch(batch)
    assert len(table) == 2 * (sum(range(50)) + 7)
    assert recorded.count("remainder") == 100
    assert set(recorded.calls["remainder"].values()) == {1}
    assert recorded.runs["remainder"] == 1
    assert meter("remainder").saved > 0


def test_cheap_conditions_are_looked_at_first(recorded: Recorded) -> None:
    matcher = Matcher(TYPE)
    matcher.add("a", "is_square(n) AND m = 3")
    matcher.add("b", "m = 4 OR is_square(n)")
    matcher.add("c", "m = 3 AND NOT is_square(n) AND remainder(n, 2) = 0")
    assert matcher.match({"n": 16, "m": 4}) == ["b"]
    assert recorded.count("is_square") == 0
    assert matcher.match({"n": 16, "m": 5}) == ["b"]
    assert recorded.count("is_square") == 1
    assert matcher.match({"n": 16, "m": 3}) == ["a", "b"]
    assert recorded.count("is_square") == 2
    assert recorded.count("remainder") == 0


def test_a_failing_event_is_null_and_no_other(recorded: Recorded) -> None:
    matcher = Matcher(TYPE)
    matcher.add_many([("known", "fragile(n) >= 0"), ("unknown", "fragile(n) IS NULL"), ("other", "n >= 0")])
    table = matcher.match_batch([{"n": n} for n in range(21)])
    by_name: dict[str, set[int]] = {}
    for row, name in zip(table["event_id"].to_pylist(), table["subscription_id"].to_pylist(), strict=True):
        by_name.setdefault(name, set()).add(row)
    assert by_name == {"known": set(range(21)) - {3, 10, 17}, "unknown": {3, 10, 17}, "other": set(range(21))}
    counts = meter("fragile")
    assert counts.failures == 3
    assert counts.lately[-1].error == "ArithmeticError: a three among sevens"
    assert "in fragile" in counts.lately[-1].traceback


def test_after_failures_in_a_row_an_operator_is_left_alone(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tamis.operators.meters.BREAK_AFTER", BREAK_AFTER)
    matcher = Matcher(TYPE)
    matcher.add("s", "fragile(n) >= 0")
    for _ in range(BREAK_AFTER + 5):
        assert matcher.match({"n": 3}) == []
    assert recorded.count("fragile") == BREAK_AFTER
    assert meter("fragile").skipped == 5
    assert meter("fragile").is_open()
    monkeypatch.setattr(meter("fragile"), "_open_until", 0.0)
    assert matcher.match({"n": 8}) == ["s"]
    assert not meter("fragile").is_open()


def test_an_unknown_order_of_calls_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no order of calls 'fastest'; known are greedy, sub-order"):
        Matcher(call_order="fastest")


@pytest.mark.slow
def test_several_threads_find_the_same_pairs(recorded: Recorded) -> None:
    rng = random.Random(5)
    conditions = {f"s{number}": random_condition(rng) for number in range(20)}
    events = [random_event(rng) for _ in range(2_000)]
    expected_pairs, found_pairs = (
        found(matcher, EventBatch.of(events, TYPE))
        for matcher in (Matcher(TYPE), Matcher(TYPE, threads=3))
        if not matcher.add_many(conditions.items())
    )
    assert found_pairs == expected_pairs
    assert expected_pairs


@pytest.mark.parametrize("schedule", ["arrival", "shortest-first"])
def test_schedules_make_the_same_calls(recorded: Recorded, schedule: Schedule) -> None:
    matcher = Matcher(TYPE)
    matcher.add_many([(f"s{k}", f"remainder(n, 50) > {k} AND m = {k % 3}") for k in range(40)])
    events = pa.Table.from_pylist([{"n": n, "m": n % 4} for n in range(200)])
    table = matcher.match_batch(events, schedule=schedule)
    assert len(table) > 0
    assert set(recorded.calls["remainder"].values()) == {1}


def test_with_a_cheap_operator_greedy_makes_fewer_calls_than_naive() -> None:
    """Two thousand events plan together, so that a round costs each of them less than a needless call."""
    events, chance = pa.table({"n": list(range(2_000)), "m": [1] * 2_000}), random.Random(2)
    conditions = {
        f"s{k}": "m = 1 AND " + " AND ".join(f"bit(n, {chance.randrange(200)})" for _ in range(4))
        for k in range(100)
    }
    made: dict[str, int] = {}
    for order in ("greedy", "naive"):
        install(Operator("bit", (BIGINT, BIGINT), BOOLEAN, _bit, cost=1e-6))
        try:
            matcher = Matcher(TYPE, call_order=order)
            assert not matcher.add_many(conditions.items())
            matcher.match_batch(events)
            made[order] = meter("bit").calls
        finally:
            uninstall("bit")
            reset_meters("bit")
    assert made["greedy"] < made["naive"]


def _bit(numbers: pa.Array, places: pa.Array) -> pa.Array:
    shifted = pc.shift_right(pc.multiply(numbers, 2_654_435_761), pc.bit_wise_and(places, 31))
    return pc.equal(pc.bit_wise_and(shifted, 1), 1)
