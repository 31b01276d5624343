"""Signatures of webhooks, as the Standard Webhooks specification has them.

What is signed is `id.timestamp.body` with HMAC-SHA256, so that neither the id by which a receiver drops
repetitions nor the time by which it drops old calls can be changed. Only the standard library is used: receivers
import this, too.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import secrets
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping

from tamis.errors import TamisError

SECRET_PREFIX = "whsec_"
_SECRET_BYTES = 32
_VERSION = "v1"
TOLERANCE_SECONDS = 300
"""How far the clocks of sender and receiver may be apart, and how old a call may be."""


class SignatureError(TamisError):
    """A call is not signed by who has the secret, is too old, or the secret is none."""


def new_secret() -> str:
    """A random secret for the signatures of one webhook."""
    return SECRET_PREFIX + b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def sign(secret: str, id: str, timestamp: int, body: bytes) -> str:
    """The value of the header `webhook-signature`.

    Args:
        secret: As `new_secret` makes them; the prefix may be missing.
        id: Of the message, the header `webhook-id`.
        timestamp: Seconds since 1970, the header `webhook-timestamp`.
        body: What is sent, byte by byte.

    Raises:
        SignatureError: The secret is none.

    Example:
        >>> sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "m1", 1700000000, b"{}")
        'v1,l9KnwUQcOUNPogn8lVS7oos+1A3QnkQIdra1b/VJ3+U='
    """
    message = f"{id}.{timestamp}.".encode() + body
    return f"{_VERSION},{b64encode(hmac.digest(_key(secret), message, hashlib.sha256)).decode()}"


def signed_headers(secret: str, id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The three headers of a signed call.

    Raises:
        SignatureError: The secret is none.
    """
    return {
        "webhook-id": id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secret, id, timestamp, body),
    }


def verify(
    secret: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance_seconds: float = TOLERANCE_SECONDS,
    now: float | None = None,
) -> str:
    """The id of a call that is what it says; a receiver checks every call with this before it reads the body.

    An id that has been seen before is a repetition: a call is made again when its answer got lost.

    Args:
        secret: What subscribing gave.
        headers: Of the call, in upper or lower case.
        body: As it came, byte by byte: JSON that was read and written again is something else.
        tolerance_seconds: How old or how far ahead it may be.
        now: Seconds since 1970, if not the present.

    Raises:
        SignatureError: It is not signed with the secret, or too old, or too far ahead.
    """
    given = {name.lower(): value for name, value in headers.items()}
    missing = [
        name
        for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
        if not given.get(name, "").strip()
    ]
    if missing:
        msg = f"the call has no header {', '.join(missing)}"
        raise SignatureError(msg)
    id, stamp = given["webhook-id"], given["webhook-timestamp"]
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) < 16):
        msg = f"webhook-timestamp: expected seconds since 1970, found {stamp[:50]!r}"
        raise SignatureError(msg)
    expected = sign(secret, id, int(stamp), body).encode()
    found = [text.encode("utf-8", "replace") for text in given["webhook-signature"].split()]
    # All are compared, whatever the first one says: a receiver's time gives nothing away.
    if not any([hmac.compare_digest(expected, each) for each in found]):
        msg = f"call {id!r}: no {_VERSION} signature of it was made with this secret"
        raise SignatureError(msg)
    age = (time.time() if now is None else now) - int(stamp)
    if abs(age) > tolerance_seconds:
        state = f"{age:.0f} seconds old" if age > 0 else f"{-age:.0f} seconds ahead"
        msg = f"call {id!r}: it is {state}, at most {tolerance_seconds:g} are taken"
        raise SignatureError(msg)
    return id


def _key(secret: str) -> bytes:
    try:
        key = b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        msg = f"expected a secret, {SECRET_PREFIX} and base64; found something else"
        raise SignatureError(msg)
    return key
