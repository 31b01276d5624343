"""For those who run the service: is it there, is it ready, how is it doing."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from tamis._version import __version__
from tamis.service.api.problems import RESPONSES, problem
from tamis.service.api.who import Asked, in_thread

router = APIRouter(tags=["operations"], responses=RESPONSES)


@router.get("/ping")
async def ping() -> dict[str, str]:
    """The process answers."""
    return {"tamis": __version__}


@router.get("/ready", response_model=None)
async def ready(service: Asked) -> Any:
    """Events are being matched; 503 with a reason if not."""
    troubles = service.troubles()
    if troubles:
        return problem(503, "unavailable", "; ".join(troubles), headers={"Retry-After": "1"})
    return {"ready": True}


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(service: Asked) -> Response:
    """Figures for Prometheus."""
    return Response(await in_thread(service.figures.text), media_type=service.figures.media_type)
