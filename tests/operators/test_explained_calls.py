"""An explanation tells which calls a condition makes, what they gave, and who shares them."""

from tamis import EventType, Matcher
from tests.operators.recording import Recorded

TYPE = EventType.of({"attributes": {"n": "bigint", "m": "int"}})


def test_calls_are_shown_with_their_values(recorded: Recorded) -> None:
    matcher = Matcher(TYPE)
    matcher.add_many([(f"s{k}", f"remainder(n, 10) > {k} AND m = 3") for k in range(5)])
    matcher.add("other", "m = 4 OR is_square(n) AND remainder(n, 10) = 1")
    found = matcher.explain("s2", {"n": 37, "m": 3})
    assert found.matched
    assert [call.text for call in found.calls] == ["remainder(n, 10)"]
    call = found.calls[0]
    assert (call.value, call.made, call.shared) == ("7", True, 6)
    assert "remainder(n, 10) is 3" in matcher.explain("s4", {"n": 33, "m": 3}).reason
    assert "one call for 6 subscriptions" in str(found)


def test_a_call_that_matching_does_not_make_is_marked(recorded: Recorded) -> None:
    matcher = Matcher(TYPE)
    matcher.add("a", "remainder(n, 10) = 7 AND m = 3")
    found = matcher.explain("a", {"n": 37, "m": 4})
    assert not found.matched
    assert not found.calls[0].made
    assert found.to_dict()["calls"][0]["value"] == "7"


def test_a_condition_without_calls_has_none(recorded: Recorded) -> None:
    matcher = Matcher(TYPE)
    matcher.add("a", "m = 3")
    assert matcher.explain("a", {"m": 3}).calls == ()
    assert "calls" not in matcher.explain("a", {"m": 3}).to_dict()


def test_each_call_is_asked_once_for_the_tree(recorded: Recorded) -> None:
    matcher = Matcher(TYPE)
    matcher.add("a", "(remainder(n, 10) = 7 OR remainder(n, 10) = 8) AND (remainder(n, 10) = 7 OR m = 1)")
    matcher.explain("a", {"n": 37, "m": 4})
    assert recorded.count("remainder") == 2, "once by matching, once for the explanation"


def test_a_call_is_shown_as_it_was_written_however_often_it_is_explained(recorded: Recorded) -> None:
    matcher = Matcher(TYPE)
    matcher.add("a", "remainder(m, 10) = 7")
    for m in (7, 8):
        assert [call.text for call in matcher.explain("a", {"m": m}).calls] == ["remainder(m, 10)"]
