"""The index of non-interval predicates finds what the masks of the tests say."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tamis.arrays import Mask
from tamis.engines.bitslice import Bitslice
from tamis.engines.encoding.non_interval_index import NonIntervalIndex
from tamis.engines.forest import forest_of
from tamis.engines.forest import tests as forest_tests
from tamis.events import EventBatch
from tamis.formulas.expression import Path, Typed
from tamis.formulas.predicates.base import Frame, Predicate
from tamis.formulas.predicates.matches import MatchesPattern
from tamis.formulas.predicates.quantified import Quantified
from tamis.frames import BatchFrame
from tamis.language.condition import compile_condition
from tamis.values.types import STRING
from tests.worlds import WORLDS, boolean, random_event, world

Pairs = list[tuple[int, int]]


def index_of(tests: forest_tests.Tests, saved: dict[str, npt.NDArray[Any]] | None = None) -> NonIntervalIndex:
    """As engines make it: `bitslice` finds the elements of arrays."""
    return NonIntervalIndex(tests, saved, Bitslice().build)


def expected(tests: Sequence[Predicate], frame: Frame) -> Pairs:
    return [
        (number, row) for number, test in enumerate(tests) for row in np.flatnonzero(test.mask(frame)).tolist()
    ]


def found(index: NonIntervalIndex, frame: Frame) -> Pairs:
    tests, firsts, hits = index.hits(frame)
    assert tests.dtype == hits.dtype == np.int32 and firsts.dtype == np.int64
    assert (np.diff(tests) > 0).all() and (np.diff(firsts) > 0).all()
    assert firsts[0] == 0 and firsts[-1] == len(hits)
    return list(zip(np.repeat(tests, np.diff(firsts)).tolist(), hits.tolist(), strict=True))


def check(index: NonIntervalIndex, batch: EventBatch) -> None:
    wanted = expected(index.tests, BatchFrame(batch))
    assert found(index, BatchFrame(batch)) == wanted


def asked_in(conditions: Sequence[str]) -> forest_tests.Tests:
    return forest_of([compile_condition(text).formula for text in conditions]).tests


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_random_conditions(name: str) -> None:
    random_ = random.Random(61)
    here = world(name)
    tests = forest_of([condition.formula for condition in here.accepted(random_, 300)]).tests
    index = index_of(tests)
    assert len(tests) > 40
    for rows in (0, 1, 2, 40):
        check(index, here.batch(random_, rows))


_WORDS = ("camera", "lens", "Nikon", "sony", "a", "b", "ab", "straße", "É", "100%", "x_y", "")


def random_patterns(random_: random.Random, count: int) -> list[Predicate]:
    attributes: list[Typed] = [Path(("a",), STRING), Path(("b",), STRING)]
    found: list[Predicate] = []
    for _ in range(count):
        test = random_.choice(("like", "like", "ilike", "rlike"))
        word, other = random_.choice(_WORDS[:9]), random_.choice(_WORDS[:9])
        like = (f"%{word}%", f"%{word}", f"{word}%{other}", f"_{word}%", "%", f"%{word}_%{other}")
        regex = (word, f"^{word}.*{other}$", f"[{word}]+", f"({word}|{other})", ".*")
        pattern = random_.choice(regex if test == "rlike" else like)
        found.append(MatchesPattern(random_.choice(attributes), test, pattern, random_.random() < 0.3))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3, 400])
def test_patterns(count: int) -> None:
    random_ = random.Random(62)
    given = random_patterns(random_, count)
    tests, _ = forest_tests.tests_of(given)
    assert set(tests) == set(given)
    event_type = {"name": "t", "attributes": {"a": "string", "b": "string"}}
    texts = [None, *_WORDS, *(" ".join(random_.sample(_WORDS, 3)) for _ in range(30))]
    for rows in (1, 2, 100):
        events = [{"a": random_.choice(texts), "b": random_.choice(texts)} for _ in range(rows)]
        check(index_of(tests), EventBatch.of(events, event_type))
    several: tuple[list[dict[str, str | None]], ...] = ([{"a": "camera"}], [{}], [{"a": None, "b": None}] * 3)
    for events in several:
        check(index_of(tests), EventBatch.of(events, event_type))


def test_only_negated_patterns() -> None:
    tests, _ = forest_tests.tests_of(
        [MatchesPattern(Path(("a",), STRING), "like", f"%{word}%", True) for word in "abc"]
    )
    events = [{"a": "a"}, {"a": None}, {"a": "xyz"}, {"a": "abc"}, {}]
    check(index_of(tests), EventBatch.of(events, {"name": "t", "attributes": {"a": "string"}}))


def elements_in(random_: random.Random, count: int) -> list[str]:
    """Conditions on elements of two arrays; some read other attributes too, or have quantifiers inside."""
    draw = (
        lambda: f"array_contains(tags, 't{random_.randrange(20)}')",
        lambda: f"array_contains(nums, {random_.randrange(20)})",
        lambda: f"exists(nums, x -> x > {random_.randrange(20)} AND x < a)",
        lambda: f"forall(nums, x -> x > {random_.randrange(20)} OR x = a)",
        lambda: f"forall(tags, x -> x LIKE '%{random_.randrange(9)}')",
        lambda: f"exists(tags, x -> x NOT LIKE '%{random_.randrange(9)}%' AND b = {random_.randrange(3)})",
        lambda: f"exists(nums, x -> exists(nums, y -> x + y = {random_.randrange(20)}))",
        lambda: f"forall(things, x -> exists(nums, y -> x = y OR y > {random_.randrange(20)}))",
        lambda: f"arrays_overlap(tags, array('t{random_.randrange(20)}', 't1'))",
        lambda: f"forall(nums, x -> x IS NULL OR x <> {random_.randrange(20)})",
        lambda: f"exists(things, x -> {boolean(random_, 1, ('x',))})",
    )
    return [random_.choice(draw)() for _ in range(count)]


def test_elements_of_arrays() -> None:
    random_ = random.Random(63)
    tests = asked_in(elements_in(random_, 250))
    kinds = {(test.attribute, test.every) for test in tests if isinstance(test, Quantified)}
    assert len(kinds) >= 6
    index = index_of(tests)
    for rows in (1, 3, 60):
        events = [random_event(random_) for _ in range(rows)]
        for event in events:
            if random_.random() < 0.7:
                event["nums"] = [random_.choice((None, *range(20))) for _ in range(random_.choice((0, 1, 2, 8)))]
                event["tags"] = [f"t{random_.randrange(20)}" for _ in range(random_.choice((0, 1, 3)))]
        check(index, EventBatch.of(events))


@pytest.mark.parametrize("room", [0, 1 << 40], ids=["sorted", "counted"])
def test_elements_counted_in_either_way(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.engines.encoding.non_interval_index._COUNTERS_PER_PAIR", room)
    random_ = random.Random(67)
    conditions = [f"{function}(nums, x -> x > {bound})" for bound in range(9) for function in ("exists", "forall")]
    events = [{"nums": [random_.randrange(10) for _ in range(random_.randrange(5))]} for _ in range(50)]
    check(index_of(asked_in(conditions)), EventBatch.of(events))


def test_few_questions_about_elements() -> None:
    conditions = [f"exists(nums, x -> x = {number})" for number in range(3)] + ["forall(tags, x -> x > 'a')"]
    events = [{"nums": [1, 2]}, {"nums": [], "tags": []}, {"nums": None}, {"tags": ["b"]}, {"tags": ["b", "a"]}]
    check(index_of(asked_in(conditions)), EventBatch.of(events))


def test_elements_are_rows_like_others() -> None:
    random_ = random.Random(64)
    outer = compile_condition("exists(things, x -> x IS NOT NULL)").formula.predicates()[0]
    assert isinstance(outer, Quantified)
    inner = [f"exists(tags, y -> y = 't{number}' OR y = x)" for number in range(8)] + [
        "x LIKE '%a%'",
        "b LIKE '%'",
    ]
    bodies = [compile_condition(f"exists(things, x -> {text})").formula.predicates()[0] for text in inner]
    tests = forest_of([body.formula for body in bodies if isinstance(body, Quantified)]).tests
    events = [random_event(random_) for _ in range(30)]
    frame, _ = BatchFrame(EventBatch.of(events)).elements(outer.attribute, outer.variable)
    assert found(index_of(tests), frame) == expected(tests, frame)


@dataclass(frozen=True, slots=True)
class Even:
    """A kind of predicate that index know nothing of; it holds where there is nothing, too."""

    attribute: Typed
    cost: float = 1.0
    identity: str = "even"

    def mask(self, frame: Frame) -> Mask:
        return np.asarray(np.arange(frame.rows) % 2 == 0)

    def describe(self) -> str:
        return "even"


def test_other_kinds() -> None:
    tests, _ = forest_tests.tests_of(
        [Even(Path(("a",), STRING)), MatchesPattern(Path(("a",), STRING), "like", "%a%")]
    )
    event_type = {"name": "t", "attributes": {"a": "string"}}
    check(index_of(tests), EventBatch.of([{"a": "a"}, {}, {}, {"a": "a"}], event_type))
    check(index_of(tests), EventBatch.of([{}], event_type))


def test_saved_index_say_the_same() -> None:
    random_ = random.Random(65)
    tests, _ = forest_tests.tests_of(random_patterns(random_, 300))
    saved = index_of(tests).arrays()
    for array in saved.values():
        array.flags.writeable = False
    again = index_of(tests, saved)
    texts = [" ".join(random_.sample(_WORDS, 3)) for _ in range(50)]
    event_type = {"name": "t", "attributes": {"a": "string", "b": "string"}}
    check(again, EventBatch.of([{"a": text, "b": random_.choice(texts)} for text in texts], event_type))
    for name, array in again.arrays().items():
        np.testing.assert_array_equal(array, saved[name])
        assert array.dtype == saved[name].dtype


def test_nothing_to_save() -> None:
    tests = asked_in(["exists(nums, x -> x > 1)", "a = 1"])
    assert index_of(tests).arrays() == {}
    check(index_of(tests, {}), EventBatch.of([{"nums": [1, 2]}, {}]))


def test_threads_that_ask_first_at_the_same_time() -> None:
    random_ = random.Random(66)
    conditions = elements_in(random_, 60) + [f"a LIKE '%{number}%'" for number in range(60)]
    index = index_of(asked_in(conditions))
    batch = EventBatch.of([{**random_event(random_), "a": str(number)} for number in range(40)])
    wanted = expected(index.tests, BatchFrame(batch))
    start = threading.Barrier(6)
    answers: list[Pairs] = []

    def ask() -> None:
        start.wait()
        answers.append(found(index, BatchFrame(batch)))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 6 and all(answer == wanted for answer in answers)
