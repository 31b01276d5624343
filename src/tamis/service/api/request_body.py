"""Request bodies that are read as bytes, up to a limit."""

from __future__ import annotations

from fastapi import Request
from starlette.exceptions import HTTPException


async def read_body(request: Request, most_bytes: int) -> bytes:
    """The whole body of a request.

    Raises:
        HTTPException: It is longer than allowed.
    """
    parts: list[bytes] = []
    length = 0
    async for part in request.stream():
        length += len(part)
        if length > most_bytes:
            raise HTTPException(413, f"the body is longer than {most_bytes:,} bytes")
        parts.append(part)
    return b"".join(parts)
