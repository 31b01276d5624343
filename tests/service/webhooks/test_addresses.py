"""Only public addresses may be called, however they are written."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.service.webhooks.addresses import AddressError, Gate, is_public, networks, parse_url

NOT_PUBLIC_4 = [
    "0.0.0.0",
    "0.1.2.3",
    "10.255.255.255",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.0.9",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.168.1.1",
    "198.19.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
]
PUBLIC_4 = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "126.0.0.1",
    "128.0.0.1",
    "172.32.0.0",
    "223.255.255.1",
]
NOT_PUBLIC_6 = [
    "::",
    "::1",
    "::127.0.0.1",
    "fe80::1",
    "fe80::1%eth0",
    "2606:4700::1111%eth0",
    "fc00::1",
    "fd12:3456::1",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "3fff::1",
    "5f00::1",
    "64:ff9b:1::8.8.8.8",
    "::ffff:0:8.8.8.8",
]
PUBLIC_6 = ["2606:4700:4700::1111", "2a00:1450:4001::200e", "2001:4860:4860::8888"]


@pytest.mark.parametrize("text", NOT_PUBLIC_4 + NOT_PUBLIC_6)
def test_these_are_not_public(text: str) -> None:
    assert not is_public(ip_address(text))


@pytest.mark.parametrize("text", PUBLIC_4 + PUBLIC_6)
def test_these_are_public(text: str) -> None:
    assert is_public(ip_address(text))


@pytest.mark.parametrize("text", NOT_PUBLIC_4 + PUBLIC_4)
def test_an_address_that_carries_another_is_judged_by_it(text: str) -> None:
    inner = IPv4Address(text)
    mapped, nat64 = IPv6Address(f"::ffff:{text}"), IPv6Address(f"64:ff9b::{text}")
    six_to_four = IPv6Address((0x2002 << 112) | (int(inner) << 80) | 1)
    assert [is_public(each) for each in (mapped, nat64, six_to_four)] == [text in PUBLIC_4] * 3


@given(st.ip_addresses())
def test_what_is_public_is_global_for_python_too(address: IPv4Address | IPv6Address) -> None:
    if is_public(address) and (address.version == 4 or address in networks(["2000::/3"])[0]):
        assert address.is_global or address in networks(["2002::/16"])[0]
        assert not (address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified)


def test_allowed_networks_are_admitted_and_nothing_else() -> None:
    gate = Gate(["10.1.0.0/16", "127.0.0.1", "fd00:1::/32"])
    inside = ["10.1.2.3", "127.0.0.1", "fd00:1::5", "::ffff:10.1.2.3", "8.8.8.8"]
    outside = ["10.2.0.1", "127.0.0.2", "fd00:2::5", "::ffff:10.2.0.1", "64:ff9b::127.0.0.2"]
    assert all(gate.admits(ip_address(text)) for text in inside)
    assert not any(gate.admits(ip_address(text)) for text in outside)


@pytest.mark.parametrize("text", ["10.0.0.1/8", "localhost", "", "10.0.0.0/33"])
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(AddressError, match="expected a network"):
        networks([text])


@pytest.mark.parametrize(
    ("url", "host", "port", "path"),
    [
        ("https://example.org", "example.org", 443, "/"),
        ("HTTP://Example.ORG:80?a=1", "example.org", 80, "/?a=1"),
        ("http://example.org:8080/a/b?c=d&e#f", "example.org", 8080, "/a/b?c=d&e"),
        ("https://[2606:4700::1111]:8443/x", "2606:4700::1111", 8443, "/x"),
        ("https://8.8.8.8/%C3%A9", "8.8.8.8", 443, "/%C3%A9"),
        ("https://xn--bcher-kva.example./", "xn--bcher-kva.example.", 443, "/"),
    ],
)
def test_the_parts_of_a_url(url: str, host: str, port: int, path: str) -> None:
    there = Gate().check(url)
    assert (there.host, there.port, there.path) == (host, port, path)
    assert parse_url(there.url) == there


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "//example.org/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "gopher://example.org/",
        "http://",
        "http:///x",
        "http://user@example.org/",
        "http://user:secret@example.org/",
        "http://example.org\\@127.0.0.1/",
        "http://example.org/\r\nHost: other",
        "http://exa mple.org/",
        "http://bücher.example/",
        "http://example.org:0/",
        "http://example.org:65536/",
        "http://example.org:x/",
        "http://[::1/",
        "http://[fe80::1%25eth0]/",
        "http://ex%61mple.org/",
        "http://example..org/",
        "http://-example.org/",
        f"http://{'a.' * 130}org/",
        f"http://example.org/{'x' * 2000}",
    ],
)
def test_what_is_no_url_of_a_receiver_is_refused(url: str) -> None:
    with pytest.raises(AddressError):
        Gate().check(url)


def test_a_password_is_not_repeated() -> None:
    with pytest.raises(AddressError) as caught:
        parse_url("https://user:geheim@example.org/")
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "10.0.0.1"])
def test_an_address_that_is_not_public_is_refused_at_once(host: str) -> None:
    with pytest.raises(AddressError, match="not public"):
        Gate().check(f"http://{host}/")


def test_all_addresses_of_a_name_have_to_be_public() -> None:
    assert Gate().check_resolved("good.example", ["8.8.8.8", "2606:4700::1111"]) == [
        ip_address("8.8.8.8"),
        ip_address("2606:4700::1111"),
    ]
    for found in (["8.8.8.8", "10.0.0.1"], ["::1"], ["8.8.8.8", "fe80::1%eth0"]):
        with pytest.raises(AddressError, match="has an address that is not public") as caught:
            Gate().check_resolved("bad.example", found)
        assert "10.0.0.1" not in str(caught.value)
    with pytest.raises(AddressError, match="has no address"):
        Gate().check_resolved("none.example", [])


def test_redirects_stay_urls_and_never_leave_https() -> None:
    here = parse_url("https://example.org/a/b")
    assert here.redirect_target("../c").url == "https://example.org/c"
    assert here.redirect_target("//other.example:8443").url == "https://other.example:8443/"
    for location in ("http://example.org/", "file:///etc/passwd", "https://user@example.org/", "https://[/"):
        with pytest.raises(AddressError):
            here.redirect_target(location)
