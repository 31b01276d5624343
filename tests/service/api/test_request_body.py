"""Bodies that are read whole, within a limit, however many parts they come in."""

from __future__ import annotations

import asyncio

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message

from tamis.service.api.request_body import read_body


def request(*parts: bytes) -> Request:
    waiting = [*parts]

    async def receive() -> Message:
        part = waiting.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(waiting)}

    return Request({"type": "http", "method": "POST", "path": "/", "headers": []}, receive)


def test_a_body_is_its_parts_together() -> None:
    assert asyncio.run(read_body(request(b"one ", b"", b"two"), 7)) == b"one two"


def test_a_body_is_not_read_beyond_the_limit() -> None:
    with pytest.raises(HTTPException) as caught:
        asyncio.run(read_body(request(b"123", b"45", b"never read"), 4))
    assert caught.value.status_code == 413
