"""Addresses in ranges of addresses."""

from __future__ import annotations

import pytest

from tamis.functions import FUNCTIONS
from tamis.functions.registry import Argument, ArgumentError
from tamis.values.types import STRING
from tests.functions.calls import results


@pytest.mark.parametrize(
    ("address", "network", "expected"),
    [
        ("10.0.0.255", "10.0.0.0/24", True),
        ("10.0.1.0", "10.0.0.0/24", False),
        ("010.0.0.1", "10.0.0.77/24", True),
        ("10.0.0.256", "10.0.0.0/24", False),
        ("10.0.0.1 ", "10.0.0.0/24", False),
        ("1.2.3.4", "0.0.0.0/0", True),
        ("::ffff:10.0.0.1", "10.0.0.0/24", False),
        ("2001:DB8::1", "2001:db8::/32", True),
        ("2001:db9::1", "2001:db8::/32", False),
        ("fe80::1%eth0", "fe80::/10", False),
        ("host", "0.0.0.0/0", False),
        (None, "0.0.0.0/0", None),
        ("1.2.3.4", "1.2.3.4", None),
        ("1.2.3.4", "1.2.3.4/33", None),
    ],
)
def test_an_address_is_in_a_range(address: str | None, network: str, expected: bool | None) -> None:
    assert results("in_cidr", [STRING, STRING], [(address, network)] * 2) == [expected] * 2


@pytest.mark.parametrize("network", ["1.2.3.4", "1.2.3.4/33", "1.2.3/8", "2001:db8::/129", "x/8", "1.2.3.4/x", ""])
def test_a_constant_that_is_no_range_is_refused(network: str) -> None:
    with pytest.raises(ArgumentError, match="expected a range of addresses"):
        FUNCTIONS["in_cidr"].resolve([Argument(STRING), Argument(STRING, True, network)], "UTC")
