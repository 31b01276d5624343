"""Secrets that are shown once and stored as salted hashes: tokens of the API, tickets of subscriptions.

A secret has 256 random bits, too many to guess. So one round of SHA-256 with a salt is enough: a slow hash
protects passwords that people choose, and these are none. Secrets are compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import NamedTuple

_BYTES = 32


class Sealed(NamedTuple):
    """What is kept of a secret."""

    salt: bytes
    hash: bytes

    def opens(self, secret: str) -> bool:
        """Is this the secret?"""
        return hmac.compare_digest(_hash(self.salt, secret), self.hash)


def new_secret() -> tuple[str, Sealed]:
    """A secret, and what to keep of it.

    >>> secret, sealed = new_secret()
    >>> sealed.opens(secret), sealed.opens(secret + "x")
    (True, False)
    """
    secret = secrets.token_urlsafe(_BYTES)
    salt = secrets.token_bytes(16)
    return secret, Sealed(salt, _hash(salt, secret))


def _hash(salt: bytes, secret: str) -> bytes:
    return hashlib.sha256(salt + secret.encode("utf-8", "surrogatepass")).digest()
