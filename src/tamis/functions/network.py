"""Functions of network addresses, which are strings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, NetmaskValueError

from tamis.functions.registry import Argument, ArgumentError, Function, Signature, always, check_count, register
from tamis.values.types import BOOLEAN, STRING

_IPV4 = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}", re.ASCII)


@lru_cache(maxsize=4096)
def network_of(text: str) -> IPv4Network | IPv6Network | None:
    """The range of addresses that `10.0.0.0/8` or `2001:db8::/32` means; None if the text is none."""
    address, slash, bits = text.partition("/")
    if not slash or not bits.isascii() or not bits.isdigit():
        return None
    try:
        first = address_of(address)
        kind = IPv6Network if isinstance(first, IPv6Address) else IPv4Network
        return None if first is None else kind((int(first), int(bits)), strict=False)
    except NetmaskValueError:
        return None


def address_of(text: str) -> IPv4Address | IPv6Address | None:
    """The address that a text is, None if it is none; leading zeros of IPv4 mean nothing."""
    try:
        if _IPV4.fullmatch(text):
            return IPv4Address(".".join(str(int(part)) for part in text.split(".")))
        return IPv6Address(text) if ":" in text and "%" not in text else None
    except AddressValueError:
        return None


def _resolve(arguments: Sequence[Argument], zone: str) -> Signature:
    check_count(arguments, 2, 2)
    text = arguments[1]
    if text.is_constant and isinstance(text.value, str) and network_of(text.value) is None:
        msg = f"expected a range of addresses, found {text.value!r}"
        raise ArgumentError(msg, 1, "write it as '10.0.0.0/8' or '2001:db8::/32'")
    return Signature((STRING, STRING), BOOLEAN, zone)


def _is_in(address: str, network: str) -> bool | None:
    """Never NULL for a range: what is no address is in none."""
    within = network_of(network)
    if within is None:
        return None
    found = address_of(address)
    return found is not None and found.version == within.version and found in within


register(Function("in_cidr", _resolve, always(_is_in)))
