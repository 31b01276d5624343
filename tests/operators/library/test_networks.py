"""Addresses in networks; sets of networks answer as their networks do one by one."""

from __future__ import annotations

import ipaddress
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tamis.operators import Operator, OperatorError
from tamis.operators.library.networks import operators

SETS = {"office": ["10.1.0.0/16", "10.0.0.0/16", "2001:db8::/32", "192.0.2.7"]}


def made(networks: Any = SETS) -> Operator:
    (operator,) = operators(networks=networks)
    return operator


def asked(rows: list[tuple[str, str]], operator: Operator | None = None) -> list[Any]:
    """The answers to all rows at once, which are those to each row alone."""
    function = (operator or made()).function

    def run(some: list[tuple[str, str]]) -> list[Any]:
        return list(function(*(pa.array(column, pa.string()) for column in zip(*some, strict=True))))

    together = run(rows)
    assert [run([row])[0] for row in rows] == together
    return together


def test_networks_of_both_versions() -> None:
    rows = [
        ("10.0.0.1", "10.0.0.0/8"),
        ("11.0.0.0", "10.0.0.0/8"),
        ("10.255.255.255", "10.0.0.0/8"),
        ("2001:db8::1", "2001:db8::/32"),
        ("2001:db9::1", "2001:db8::/32"),
        ("10.0.0.1", "::/0"),
        ("::1", "0.0.0.0/0"),
        ("10.0.0.1", "10.0.0.1"),
    ]
    assert asked(rows) == [True, False, True, True, False, False, False, True]


def test_a_version_4_address_written_in_version_6_is_in_both() -> None:
    rows = [
        ("::ffff:10.0.0.1", "10.0.0.0/8"),
        ("::ffff:10.0.0.1", "::ffff:0:0/96"),
        ("::ffff:11.0.0.1", "10.0.0.0/8"),
    ]
    assert asked(rows) == [True, True, False]


def test_what_is_malformed_is_null() -> None:
    rows = [("10.0.0", "10.0.0.0/8"), ("", "office"), ("10.0.0.1", "10.0.0.1/8"), ("10.0.0.1", "house")]
    assert asked(rows) == [None] * 4


def test_a_named_set() -> None:
    rows = [("10.1.2.3", "office"), ("10.2.0.0", "office"), ("2001:db8:1::", "office"), ("192.0.2.7", "office")]
    assert asked(rows) == [True, False, True, True]


@pytest.mark.slow
def test_a_set_answers_as_its_networks_do() -> None:
    chance = random.Random(4)
    texts = [f"10.{chance.randrange(4)}.{chance.randrange(256)}.0/{chance.randint(24, 28)}" for _ in range(300)]
    addresses = [f"10.{chance.randrange(4)}.{chance.randrange(256)}.{chance.randrange(256)}" for _ in range(1_000)]
    networks = [ipaddress.ip_network(text) for text in texts]
    found = asked([(address, "many") for address in addresses], made({"many": texts}))
    assert found == [any(ipaddress.ip_address(address) in each for each in networks) for address in addresses]
    assert 0 < sum(found) < len(found)


def test_networks_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "blocked.txt"
    file.write_text("# since March\n198.51.100.0/24\n2001:db8::/48\n")
    assert asked([("198.51.100.9", "blocked")], made({"blocked": file})) == [True]


def test_constants_are_checked() -> None:
    check = made().check
    assert check is not None
    assert check([None, "office"]) is None
    assert check([None, "10.0.0.0/8"]) is None
    assert check(["10.0.0.1", None]) is None
    assert "has host bits set" in str(check([None, "10.0.0.1/8"]))
    assert "there is no set of networks 'ofice'; did you mean 'office'?" in str(check([None, "ofice"]))
    assert "'10.0.0' does not appear to be" in str(check(["10.0.0", "office"]))


def test_all_sets_that_cannot_be_used_are_named() -> None:
    with pytest.raises(
        OperatorError,
        match=r"(?s)4 problems.*'a': 10.0.0.1/8 has host bits.*'b': expected networks.*'10.0.0.0/8': a set",
    ):
        operators(networks={"a": ["10.0.0.1/8"], "b": [], "10.0.0.0/8": ["10.0.0.0/8"], "c": [5]})  # type: ignore[list-item]
