"""Addresses of the Internet, versions 4 and 6, against networks and named sets of networks.

A set is kept as sorted ranges that do not touch, so a look-up is a binary search however many networks it has. An
address of version 4 that is written in version 6 (`::ffff:10.0.0.1`) is in the networks of both.
"""

from __future__ import annotations

import ipaddress
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from tamis.operators.library.support import check_table, file_lines, raise_problems, unknown_name
from tamis.operators.registry import Operator
from tamis.values.column import Value
from tamis.values.types import BOOLEAN, STRING

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Ranges: TypeAlias = tuple[list[int], list[int]]
"""First and last address of each range, in ascending order."""

_KEPT = 1 << 16  # addresses and networks that are not read again


def operators(*, networks: Mapping[str, Sequence[str] | str | Path] | None = None) -> list[Operator]:
    """`in_network`.

    Args:
        networks: The networks of each named set, such as `10.0.0.0/8`, or the file that has them, one a line.

    Raises:
        OperatorError: A set has a name or a network that cannot be used; all of them are listed.
    """
    known = _Networks(_read_networks(networks or {}))
    return [
        Operator(
            "in_network",
            (STRING, STRING),
            BOOLEAN,
            known.in_network,
            cost=4e-6,
            check=known.check,
            description="Is an address, of version 4 or 6, in a network or in a named set of networks?",
        )
    ]


class _Networks:
    """The named sets, and what was read of other networks so far."""

    def __init__(self, sets: Mapping[str, Sequence[Network]]) -> None:
        self._sets = {name: _ranges(networks) for name, networks in sets.items()}
        self._single = lru_cache(_KEPT)(lambda text: _ranges([ipaddress.ip_network(text)]))
        self._numbers = lru_cache(_KEPT)(_numbers)

    def in_network(self, address: pa.StringArray, network: pa.StringArray) -> list[bool | None]:
        """Is each address in its network? NULL where one of them is malformed."""
        return [self._holds(*row) for row in zip(address.to_pylist(), network.to_pylist(), strict=True)]

    def check(self, arguments: Sequence[Value | None]) -> str | None:
        """What is wrong with a constant address or network."""
        address, network = arguments
        if address is not None and _problem(ipaddress.ip_address, address):
            return _problem(ipaddress.ip_address, address)
        if network is None or network in self._sets:
            return None
        problem = _problem(ipaddress.ip_network, network)
        named = problem is not None and "/" not in network
        return f"{problem}; {unknown_name('set of networks', network, self._sets)}" if named else problem

    def _holds(self, address: str, network: str) -> bool | None:
        try:
            versions = self._sets.get(network) or self._single(network)
            numbers = self._numbers(address)
        except ValueError:  # malformed, which is NULL
            return None
        return any(_is_in(number, versions[version]) for version, number in numbers.items() if version in versions)


def _numbers(address: str) -> dict[int, int]:
    """The address as a number, by the version in which it has one."""
    parsed = ipaddress.ip_address(address)
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    numbers: dict[int, int] = {parsed.version: int(parsed)}
    return numbers if mapped is None else numbers | {4: int(mapped)}


def _ranges(networks: Iterable[Network]) -> dict[int, Ranges]:
    """The ranges of some networks, by their version; neighbours are one range."""
    found: dict[int, Ranges] = {}
    bounds = ((each.version, int(each.network_address), int(each.broadcast_address)) for each in networks)
    for version, first, last in sorted(bounds):
        firsts, lasts = found.setdefault(version, ([], []))
        if lasts and first <= lasts[-1] + 1:
            lasts[-1] = max(lasts[-1], last)
        else:
            firsts.append(first)
            lasts.append(last)
    return found


def _is_in(number: int, ranges: Ranges) -> bool:
    firsts, lasts = ranges
    at = bisect_right(firsts, number) - 1
    return at >= 0 and number <= lasts[at]


def _read_networks(sets: Mapping[str, Sequence[str] | str | Path]) -> dict[str, list[Network]]:
    """The networks of each set."""
    found: dict[str, list[Network]] = {}
    problems: list[str] = []
    for name, given in check_table("networks", sets).items():
        texts = file_lines(given) if isinstance(given, (str, Path)) else given
        if not isinstance(texts, Sequence) or not texts:
            problems.append(f"{name!r}: expected networks or the file that has them, found {given!r}")
            continue
        if not _problem(ipaddress.ip_network, name):
            problems.append(f"{name!r}: a set may not be called as a network is")
        wrong = [problem for text in texts if (problem := _problem(ipaddress.ip_network, text))]
        problems += [f"{name!r}: {problem}" for problem in wrong]
        found[name] = [] if wrong else [ipaddress.ip_network(text) for text in texts]
    raise_problems("networks", problems)
    return found


def _problem(parse: Callable[[str], object], text: object) -> str | None:
    """What is wrong with an address or a network."""
    if not isinstance(text, str):
        return f"expected a text, found {text!r}"
    try:
        parse(text)
    except ValueError as error:
        return str(error)
    return None
