"""Which addresses webhooks may call: public ones, and networks that the settings allow.

This prevents server-side request forgery. A URL is parsed once, here, and only its parts are used from then on, so
no second parser can come to another host. Host names are not checked, the addresses that they resolve to are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias
from urllib.parse import urljoin, urlsplit

from tamis.errors import TamisError

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

LONGEST_URL = 2000
_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(
    r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*"
)
_URL_CHARACTERS = re.compile(r"[!-\[\]-~]+")  # visible ASCII without the backslash, which some read as a slash

# Written out: what the standard library calls global has changed between versions of Python.
_NOT_PUBLIC_4 = [
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",
        "100.64.0.0/10",  # behind a provider's translation
        "127.0.0.0/8",
        "169.254.0.0/16",  # link-local, where clouds keep their metadata
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",  # examples, as two others
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",  # measurements
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
]
_GIVEN_OUT_6 = IPv6Network("2000::/3")  # the only part of IPv6 that has public addresses
_NOT_PUBLIC_6 = [IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "3fff::/20")]
_TRANSLATED_6 = IPv6Network("64:ff9b::/96")  # NAT64


class AddressError(TamisError):
    """A URL cannot be called or may not be."""


@dataclass(frozen=True, slots=True)
class Target:
    """A URL, taken apart.

    Attributes:
        scheme: `http` or `https`.
        host: Name or address, in lower case, without brackets.
        port: Also when it is the usual one.
        path: With the query; never empty.
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """What the header `Host` says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """All of it as text."""
        return f"{self.scheme}://{self.authority}{self.path}"

    def redirect_target(self, location: str) -> Target:
        """Where a redirect from here leads to.

        Raises:
            AddressError: To no URL, or from https to http.
        """
        try:
            there = parse_url(urljoin(self.url, location))
        except ValueError as error:
            msg = f"redirected to {location[:200]!r}, which is no URL"
            raise AddressError(msg) from error
        if (self.scheme, there.scheme) == ("https", "http"):
            msg = f"redirected from https to http: {there.url[:200]!r}"
            raise AddressError(msg)
        return there


def parse_url(url: str) -> Target:
    """The parts of a URL that could be a webhook's; its host is not checked.

    Raises:
        AddressError: It is not one.

    Example:
        >>> parse_url("https://Example.org:8443/hook?to=me").authority
        'example.org:8443'
    """
    if len(url) > LONGEST_URL:
        msg = f"expected a URL of at most {LONGEST_URL} characters, found {len(url)}"
        raise AddressError(msg)
    shown = f"URL {url[:200]!r}"
    if not _URL_CHARACTERS.fullmatch(url):
        msg = f"{shown}: expected visible ASCII without backslashes; write other characters as %.. or xn--..."
        raise AddressError(msg)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        msg = f"{shown}: {error}"
        raise AddressError(msg) from error
    if parts.scheme not in _PORTS:
        msg = f"{shown}: expected http:// or https://"
        raise AddressError(msg)
    if "@" in parts.netloc:
        # Not shown: it may hold a password.
        msg = "expected a URL without user and password; calls are signed"
        raise AddressError(msg)
    if not (_NAME.fullmatch(host.removesuffix(".")) or _literal(host)) or len(host) > 253 or port == 0:
        msg = f"{shown}: expected a host's name or address, and a port from 1 to 65535 if any"
        raise AddressError(msg)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, host, port or _PORTS[parts.scheme], path)


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Networks from their texts; an address is a network of one.

    Raises:
        AddressError: A text is none.
    """
    found = []
    for text in texts:
        try:
            found.append(ip_network(text))
        except ValueError as error:
            msg = f"expected a network such as 10.1.0.0/16, found {text!r}: {error}"
            raise AddressError(msg) from error
    return tuple(found)


def is_public(address: Address) -> bool:
    """Can it be reached from everywhere? Of an address that carries one of IPv4, that one counts.

    Example:
        >>> [is_public(ip_address(text)) for text in ("8.8.8.8", "10.0.0.1", "::ffff:10.0.0.1", "2002:808::")]
        [True, False, False, True]
    """
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    inner = embedded_ipv4(address)
    if inner is not None:
        return is_public(inner)
    return (
        address in _GIVEN_OUT_6
        and address.scope_id is None
        and not any(address in network for network in _NOT_PUBLIC_6)
    )


def embedded_ipv4(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that packets to `address` end up at: mapped, 6to4 or NAT64."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _TRANSLATED_6:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return None


class Gate:
    """Admits addresses that are public, or in a network that is allowed."""

    def __init__(self, allow: Iterable[str] = ()) -> None:
        """Allow these networks, too.

        Raises:
            AddressError: One of them is no network.
        """
        self.allow = networks(allow)

    def admits(self, address: Address) -> bool:
        """May it be called?"""
        if any(address in network for network in self.allow):
            return True
        inner = embedded_ipv4(address) if isinstance(address, IPv6Address) else None
        return self.admits(inner) if inner is not None else is_public(address)

    def check(self, url: str) -> Target:
        """The parts of a URL that may be called, as far as that is known without resolving a name.

        Raises:
            AddressError: It may not.
        """
        there = parse_url(url)
        address = _literal(there.host)
        if address is not None and not self.admits(address):
            msg = f"the address {there.host} is not public; the setting webhook_networks allows other networks"
            raise AddressError(msg)
        return there

    def check_resolved(self, host: str, found: Iterable[str]) -> list[Address]:
        """What a host's name was resolved to, if all of it may be called.

        Raises:
            AddressError: One may not be, or there is none. The message does not say which: a stranger
                must not be able to resolve names of an internal network.
        """
        addresses = [ip_address(text) for text in found]
        if not addresses:
            msg = f"{host} has no address"
            raise AddressError(msg)
        if not all(self.admits(address) for address in addresses):
            msg = f"{host} has an address that is not public; the setting webhook_networks allows other networks"
            raise AddressError(msg)
        return addresses


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
