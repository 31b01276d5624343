"""Contestants are built from their names, and cases have the parameters of the paper."""

from __future__ import annotations

from tamis.lab.claims.bucket_cases import EVERYBODY, IT, RBPST, begen, engine_of, pubsub


def test_contestants_are_told_by_name() -> None:
    assert (IT, RBPST) == ("buckets, 5000, it-node", "buckets, 5000, rbpst-hull")
    assert pubsub("it-range", 50, "as they come") == "buckets, 50, it-range, as they come"
    for name in (
        *EVERYBODY,
        "bitslice",
        pubsub("auto", 50),
        pubsub("rbpst-range", 1, "frequent first"),
        f"{IT}, suffix",
    ):
        engine = engine_of(name)
        assert engine is not None and engine.name == name.split(",", maxsplit=1)[0]
    assert engine_of("nobody") is None


def test_cases_have_labels_of_their_own() -> None:
    cases = [begen("uniform"), begen("zipf"), begen("zipf", 100), begen("uniform", matches=0.15)]
    assert len({case.label for case in cases}) == len(cases)
    assert [case.parameters["exponent"] for case in cases] == [0.0, 1.0, 1.0, 0.0]
