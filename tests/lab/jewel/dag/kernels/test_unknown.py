"""A XOR asks only for the operand that is not true, and remembers what it learned for one event."""

from __future__ import annotations

from tamis.events import EventBatch, EventType
from tamis.lab.jewel.dag import Dag
from tamis.language.condition import compile_condition
from tests.engines.test_engines import check
from tests.lab.jewel.dag.kernels.test_nodes import set_serial

TYPE = EventType.of({"attributes": dict.fromkeys("abcd", "int")})


def test_what_was_remembered_is_void_when_serial_numbers_begin_again() -> None:
    condition = compile_condition("a = 1 XOR (b = 1 AND c = 1)", TYPE)
    index = Dag().build([condition.formula])
    events = [{"a": 1}, {"a": 1, "b": 2}, {"a": 1, "b": 1}, {"a": 1, "b": 1, "c": 2}, {"a": 1, "b": 1, "c": 1}]
    batch = EventBatch.of(events, TYPE)
    check(index, {0: condition}, batch)
    set_serial(index._graph, 2**31 - 20)
    for _ in range(3):
        check(index, {0: condition}, batch)


def test_an_operand_of_several_xors_that_is_unknown() -> None:
    inner = "(b = 1 AND (c = 1 XOR d = 1))"
    conditions = [compile_condition(text, TYPE) for text in (f"a = 1 XOR {inner}", f"a > 0 XOR {inner}", inner)]
    index = Dag().build([each.formula for each in conditions])
    values = (None, 1, 2)
    events = [{"a": a, "b": b, "c": c, "d": d} for a in values for b in values for c in values for d in values]
    check(index, dict(enumerate(conditions)), EventBatch.of(events, TYPE))
