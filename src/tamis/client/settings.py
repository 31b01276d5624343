"""Settings of a client: address, token, timeouts and retries."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tamis._version import __version__
from tamis.client.errors import INVALID, ClientError
from tamis.client.retries import Retries

DEFAULT_URL = "http://127.0.0.1:8765"


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """What every request of a client has in common.

    Attributes:
        url: The address of the service, without a slash at the end.
        token: What lets the client in; None if the service asks for none.
        timeout_seconds: How long to wait for a connection, and for each part of an answer.
        quiet_seconds: After how long without a sign of life a stream is taken up again.
        retries: How patient the client is.
    """

    url: str
    token: str | None = field(repr=False)
    timeout_seconds: float
    quiet_seconds: float
    retries: Retries

    @classmethod
    def of(
        cls,
        url: str | None,
        token: str | None,
        *,
        timeout_seconds: float,
        quiet_seconds: float,
        retries: Retries,
    ) -> ClientSettings:
        """What is given, else what the environment says.

        Raises:
            ClientError: The address or the token cannot be one.
        """
        place = (url or os.environ.get("TAMIS_URL") or DEFAULT_URL).strip().rstrip("/")
        parts = urlsplit(place)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
            msg = f"expected the address of the service, as {DEFAULT_URL}, found {place!r}"
            raise ClientError(None, INVALID, msg)
        secret = (token or os.environ.get("TAMIS_TOKEN") or "").strip() or None
        if secret is not None and not all("!" <= letter <= "~" for letter in secret):
            msg = "expected a token of visible ASCII characters without spaces, found others"
            raise ClientError(None, INVALID, msg)
        return cls(place, secret, timeout_seconds, quiet_seconds, retries)

    def headers(self) -> dict[str, str]:
        """What goes with every request."""
        allowed = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        return {"User-Agent": f"tamis/{__version__}", **allowed}
