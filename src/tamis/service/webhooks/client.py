"""One call of a receiver: to an address that was checked, with an end in time and size.

Resolving, checking and connecting are one step: the connection goes to the very address that was checked, while
the header `Host` and the certificate are those of the name. Proxies of the environment are not used. Whatever a
receiver does, `Caller.call` gives an answer.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeAlias

import httpcore2

from tamis._version import __version__
from tamis.service.webhooks.addresses import AddressError, Gate, Target
from tamis.service.webhooks.settings import DeliveryPolicy

REDIRECTS = 3
ANSWER_BYTES = 64 * 1024
"""How much of an answer is read."""
_ERROR_CHARACTERS = 500
_LOOKUPS = 16
_KEEP_SECONDS = 15.0

Resolve: TypeAlias = Callable[[str, int], Sequence[str]]
"""The addresses of a host for a port; blocks."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallResult:
    """What came of a call.

    Attributes:
        status: The receiver's, if it gave a whole answer.
        error: What went wrong instead, or what is wrong with the status.
        seconds: How long it took.
        body: The first bytes of the answer.
        retry_after: Seconds that the receiver asks to be left alone.
        refused: We did not want to call it, since the address is not one to be called.
    """

    status: int | None
    error: str | None
    seconds: float
    body: bytes = b""
    retry_after: float | None = None
    refused: bool = False


class WebhookClient:
    """Calls receivers; at most so many at once as the settings say hold a connection."""

    def __init__(
        self,
        delivery: DeliveryPolicy,
        *,
        resolve: Resolve | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        """Nothing is connected yet.

        Args:
            delivery: The settings.
            resolve: Instead of the system's look-up of names.
            ssl_context: Instead of the system's trust in certificates.
        """
        self._timeout = delivery.timeout
        self._gate = Gate(delivery.allow)
        self._network = _CheckedNetwork(self._gate, delivery.timeout, resolve or system_addresses)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=ssl_context or httpcore2.default_ssl_context(),
            max_connections=delivery.concurrent,
            keepalive_expiry=_KEEP_SECONDS,
            network_backend=self._network,
        )

    async def call(self, url: str, headers: Mapping[str, str], body: bytes) -> CallResult:
        """POST a JSON body, and follow redirects as far as they may be followed."""
        began = time.perf_counter()
        status: int | None = None
        content, after, refused = b"", None, False
        try:
            async with asyncio.timeout(self._timeout):
                status, content, after = await self._follow(self._gate.check(url), headers, body)
            error = None if 200 <= status < 300 else f"the receiver answered {status}"
        except TimeoutError:
            error = f"no whole answer within {self._timeout:g} seconds"
        except AddressError as problem:
            error, refused = str(problem), True
        except _TooManyRedirectsError:
            error = f"more than {REDIRECTS} redirects"
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException, OSError) as problem:
            error = f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
        except Exception as problem:
            # A receiver must not be able to stop the deliverer, whatever it thinks of.
            _log.exception("a call of %s failed in an unexpected way", url)
            error = f"unexpected: {type(problem).__name__}"
        seconds = time.perf_counter() - began
        return CallResult(status, error and error[:_ERROR_CHARACTERS], seconds, content, after, refused)

    async def close(self) -> None:
        await self._pool.aclose()
        self._network.close()

    async def _follow(
        self, there: Target, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, bytes, float | None]:
        for _ in range(1 + REDIRECTS):
            status, given, content = await self._post(there, headers, body)
            location = given.get(b"location")
            if status not in (307, 308) or location is None:
                return status, content, _retry_after(given.get(b"retry-after"))
            there = self._gate.check(there.redirect_target(location.decode("latin-1")).url)
        raise _TooManyRedirectsError

    async def _post(
        self, there: Target, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[bytes, bytes], bytes]:
        sent = {
            "Host": there.authority,
            "Content-Type": "application/json",
            "User-Agent": f"tamis/{__version__}",
            "Accept": "application/json, text/plain",
            "Accept-Encoding": "identity",
            **headers,
        }
        url = httpcore2.URL(scheme=there.scheme, host=there.host, port=there.port, target=there.path)
        pairs = [(name.encode(), value.encode()) for name, value in sent.items()]
        content = bytearray()
        async with self._pool.stream("POST", url, headers=pairs, content=body) as response:
            async with aclosing(response.aiter_stream()) as parts:
                async for part in parts:
                    content += part
                    if len(content) >= ANSWER_BYTES:
                        break
        return (
            response.status,
            {name.lower(): value for name, value in response.headers},
            bytes(content[:ANSWER_BYTES]),
        )


def system_addresses(host: str, port: int) -> list[str]:
    """The addresses that the system knows of a host, in its order of preference.

    Raises:
        OSError: None.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class _TooManyRedirectsError(Exception):
    """The receiver sends us round and round."""


class _CheckedNetwork(httpcore2.AsyncNetworkBackend):
    """Connects to addresses that it has resolved and checked itself, and to nothing else."""

    def __init__(self, gate: Gate, timeout: float, resolve: Resolve) -> None:
        self._gate = gate
        self._timeout = timeout
        self._resolve = resolve
        self._plain = httpcore2.AnyIOBackend()
        # Of its own: names that take long to look up must not hold up those who wait for a database.
        self._threads = ThreadPoolExecutor(_LOOKUPS, thread_name_prefix="tamis-lookup")

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """A connection to one of the host's addresses, all of which may be called."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._threads, self._resolve, host, port)
        except (OSError, UnicodeError) as error:
            msg = f"{host} cannot be resolved: {error}"
            raise httpcore2.ConnectError(msg) from error
        addresses = self._gate.check_resolved(host, found)
        share = self._timeout / len(addresses)  # one that does not answer leaves time for the others
        failure: Exception | None = None
        for address in addresses:
            try:
                return await self._plain.connect_tcp(str(address), port, share, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = failure or error
        assert failure is not None
        raise failure

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Never: a socket of this machine is not public."""
        msg = "webhooks do not call sockets of the machine"
        raise AddressError(msg)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _retry_after(value: bytes | None) -> float | None:
    """Seconds that a `Retry-After` asks for, as a number or a date; None if it cannot be read."""
    if value is None:
        return None
    text = value.decode("latin-1").strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])  # longer than any cap
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    aware = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
