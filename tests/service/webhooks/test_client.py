"""A call goes where it may and nowhere else, and ends, whatever the receiver does."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from tamis.service.webhooks.client import ANSWER_BYTES, CallResult, Resolve, WebhookClient
from tests.service.webhooks.feeds import QUICK
from tests.service.webhooks.receiver import (
    Behaviour,
    Receiver,
    answering,
    babbling,
    closing,
    dripping,
    flooding,
    receiving,
    stalling,
    too_short,
    until,
)

BODY = b'{"type": "tamis.test"}'


def call(
    url: str,
    *,
    times: int = 1,
    timeout: float = 30,
    allow: tuple[str, ...] = QUICK.allow,
    resolve: Resolve | None = None,
    ssl_context: ssl.SSLContext | None = None,
) -> CallResult:
    """The last answer of so many calls."""

    async def run() -> CallResult:
        delivery = replace(QUICK, timeout=timeout, allow=allow)
        caller = WebhookClient(delivery, resolve=resolve, ssl_context=ssl_context)
        try:
            answers = [await caller.call(url, {"webhook-id": "m1"}, BODY) for _ in range(times)]
        finally:
            await caller.close()
        return answers[-1]

    return asyncio.run(run())


def test_a_call_brings_body_and_headers(receiver: Receiver) -> None:
    receiver.script("/hook?a=1", answering(201, b"thanks"))
    answer = call(receiver.url("/hook?a=1"))
    assert (answer.status, answer.error, answer.body) == (201, None, b"thanks")
    (got,) = receiver.calls
    assert (got.path, got.body, got.id) == ("/hook?a=1", BODY, "m1")
    assert got.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert got.headers["content-type"] == "application/json"


@pytest.mark.parametrize("status", [301, 302, 303, 304, 400, 404, 410, 500, 503])
def test_any_other_status_is_a_failure(receiver: Receiver, status: int) -> None:
    receiver.always["/hook"] = answering(status, Location="/other")
    answer = call(receiver.url("/hook"))
    assert (answer.status, answer.refused) == (status, False)
    assert answer.error == f"the receiver answered {status}"
    assert len(receiver.calls) == 1


# --- addresses -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "127.1", "0x7f000001", "2130706433", "[::ffff:127.0.0.1]"]
)
def test_loopback_is_refused_however_it_is_written(receiver: Receiver, host: str) -> None:
    answer = call(receiver.url("/hook", host), allow=())
    assert answer.refused
    assert answer.status is None
    assert "not public" in str(answer.error)
    assert receiver.calls == []


def test_a_name_is_resolved_once_and_the_checked_address_is_called(receiver: Receiver) -> None:
    found = iter([["127.0.0.1"], ["127.0.0.2"]])  # a second look-up would be led elsewhere
    answer = call(receiver.url("/hook", "hook.example"), times=3, resolve=lambda *_: next(found))
    assert answer.error is None
    assert [each.headers["host"] for each in receiver.calls] == [f"hook.example:{receiver.port}"] * 3


@pytest.mark.parametrize("found", [["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "127.0.0.1"], ["8.8.8.8", "::1"]])
def test_one_bad_address_among_good_ones_is_enough_to_refuse(receiver: Receiver, found: Sequence[str]) -> None:
    answer = call(receiver.url("/hook", "mixed.example"), resolve=lambda *_: found)
    assert answer.refused
    assert receiver.calls == []


def test_an_address_that_does_not_answer_leaves_time_for_the_next(receiver: Receiver) -> None:
    with receiving("127.0.0.2") as other:
        closed = other.port
    assert closed  # nobody listens there any more
    found = ["127.0.0.2", "127.0.0.1"]
    answer = call(receiver.url("/hook", "two.example"), allow=("127.0.0.1", "127.0.0.2"), resolve=lambda *_: found)
    assert answer.error is None


def test_a_name_that_does_not_exist_is_a_failure() -> None:
    def resolve(host: str, port: int) -> Sequence[str]:
        msg = "no such name"
        raise OSError(msg)

    answer = call("http://nowhere.example/", resolve=resolve)
    assert (answer.status, answer.refused) == (None, False)
    assert "nowhere.example cannot be resolved: no such name" in str(answer.error)


def test_proxies_of_the_environment_are_not_used(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url(""))
        assert call(receiver.url("/hook")).error is None
        assert proxy.calls == []


# --- redirects -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_is_followed_with_body_and_headers(receiver: Receiver, status: int) -> None:
    receiver.script("/a", answering(status, Location="/b?c=1"))
    assert call(receiver.url("/a")).error is None
    assert [(each.path, each.body, each.id) for each in receiver.calls] == [
        ("/a", BODY, "m1"),
        ("/b?c=1", BODY, "m1"),
    ]


@pytest.mark.parametrize("name", ["127.0.0.2", "inside.example"])
def test_a_redirect_to_an_address_that_is_not_allowed_is_refused(receiver: Receiver, name: str) -> None:
    with receiving("127.0.0.2") as inside:
        receiver.always["/a"] = answering(307, Location=inside.url("/admin", name))
        answer = call(
            receiver.url("/a"), resolve=lambda host, _: ["127.0.0.2" if host == "inside.example" else "127.0.0.1"]
        )
        assert answer.refused
        assert "not public" in str(answer.error)
        assert inside.calls == []
    assert len(receiver.calls) == 1


@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://user:pw@127.0.0.1/", "http://["])
def test_a_redirect_to_what_is_no_receiver_is_refused(receiver: Receiver, location: str) -> None:
    receiver.always["/a"] = answering(308, Location=location)
    answer = call(receiver.url("/a"))
    assert answer.refused
    assert len(receiver.calls) == 1


def test_redirects_in_a_circle_come_to_an_end(receiver: Receiver) -> None:
    receiver.always["/a"] = answering(307, Location="/a")
    answer = call(receiver.url("/a"))
    assert answer.error == "more than 3 redirects"
    assert len(receiver.calls) == 4


def test_a_redirect_to_nowhere_is_a_failure(receiver: Receiver) -> None:
    receiver.always["/a"] = answering(307)
    assert call(receiver.url("/a")).error == "the receiver answered 307"


# --- receivers that misbehave --------------------------------------------------------------------------------


@pytest.mark.parametrize("behaviour", [stalling, dripping])
def test_a_receiver_that_stalls_is_cut_off(receiver: Receiver, behaviour: Behaviour) -> None:
    receiver.always["/hook"] = behaviour
    answer = call(receiver.url("/hook"), timeout=0.3)
    assert (answer.status, answer.error) == (None, "no whole answer within 0.3 seconds")


def test_a_name_that_takes_for_ever_to_look_up_is_cut_off() -> None:
    def resolve(host: str, port: int) -> Sequence[str]:
        until(lambda: over)
        return ["127.0.0.1"]

    over: list[bool] = []

    async def run() -> CallResult:
        caller = WebhookClient(replace(QUICK, timeout=0.2), resolve=resolve)
        answer = await caller.call("http://slow.example/", {}, BODY)
        over.append(True)
        await caller.close()
        return answer

    assert "no whole answer" in str(asyncio.run(run()).error)


def test_little_of_a_huge_answer_is_read(receiver: Receiver) -> None:
    receiver.always["/hook"] = flooding
    answer = call(receiver.url("/hook"))
    assert answer.error is None
    assert answer.body == b"y" * ANSWER_BYTES
    assert receiver.flooded_mebibytes < 64  # what the system's buffers take, of 1,024


@pytest.mark.parametrize("behaviour", [closing, too_short, babbling])
def test_an_answer_that_is_not_whole_is_a_failure(receiver: Receiver, behaviour: Behaviour) -> None:
    receiver.always["/hook"] = behaviour
    answer = call(receiver.url("/hook"))
    assert answer.status is None
    assert "ProtocolError" in str(answer.error) or "ReadError" in str(answer.error)


def test_nobody_at_home_is_a_failure() -> None:
    with receiving() as gone:
        url = gone.url("/hook")
    answer = call(url)
    assert (answer.status, answer.refused) == (None, False)
    assert "ConnectError" in str(answer.error)


def test_a_connection_that_the_receiver_has_closed_is_not_used_again(receiver: Receiver) -> None:
    receiver.script("/hook", answering(200, Connection="close"), answering(200))
    assert call(receiver.url("/hook"), times=3).error is None


# --- Retry-After ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "seconds"), [("120", 120.0), (" 0 ", 0.0), ("9" * 400, 999999999999.0)])
def test_seconds_to_wait(receiver: Receiver, value: str, seconds: float) -> None:
    receiver.always["/hook"] = answering(503, Retry_After=value)
    assert call(receiver.url("/hook")).retry_after == seconds


def test_a_date_to_wait_for(receiver: Receiver) -> None:
    when = datetime.now(UTC) + timedelta(hours=1)
    receiver.always["/hook"] = answering(429, Retry_After=format_datetime(when, usegmt=True))
    waits = call(receiver.url("/hook")).retry_after
    assert waits is not None
    assert 3000 < waits <= 3601
    receiver.always["/hook"] = answering(429, Retry_After="Fri, 31 Dec 1999 23:59:59 GMT")
    assert call(receiver.url("/hook")).retry_after == 0


@pytest.mark.parametrize("value", ["soon", "-5", "1.5", "Fri, 99 Dec 1999", "٣", ""])
def test_what_cannot_be_read_is_no_wish(receiver: Receiver, value: str) -> None:
    receiver.always["/hook"] = answering(503, Retry_After=value.encode().decode("latin-1"))
    answer = call(receiver.url("/hook"))
    assert (answer.status, answer.retry_after) == (503, None)


# --- TLS -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and the certificate of hook.example, in one file."""
    folder = tmp_path_factory.mktemp("tls")
    key, made, both = folder / "key.pem", folder / "made.pem", folder / "both.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(key), "-out", str(made), "-days", "2", "-subj", "/CN=hook.example"]
    try:
        subprocess.run(
            [*command, "-addext", "subjectAltName=DNS:hook.example"], check=True, capture_output=True, timeout=60
        )
    except FileNotFoundError:
        pytest.skip("there is no openssl to make a certificate with")
    both.write_bytes(key.read_bytes() + made.read_bytes())
    return both


def test_the_certificate_has_to_be_of_the_name_although_the_address_is_called(certificate: Path) -> None:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate)
    trusting = ssl.create_default_context(cafile=str(certificate))
    with receiving(tls=server) as receiver:

        def call_name(name: str, trust: ssl.SSLContext | None) -> CallResult:
            return call(receiver.url("/hook", name), resolve=lambda *_: ["127.0.0.1"], ssl_context=trust)

        assert call_name("hook.example", trusting).error is None
        assert receiver.names == ["hook.example"]
        for name, trust in (("other.example", trusting), ("hook.example", None)):
            answer = call_name(name, trust)
            assert answer.status is None
            assert "CERTIFICATE_VERIFY_FAILED" in str(answer.error)
        assert len(receiver.calls) == 1


def test_calls_to_one_receiver_share_a_connection(receiver: Receiver) -> None:
    looked: list[str] = []

    def resolve(host: str, port: int) -> Sequence[str]:
        looked.append(host)
        return ["127.0.0.1"]

    assert call(receiver.url("/hook", "hook.example"), times=5, resolve=resolve).error is None
    assert looked == ["hook.example"]
