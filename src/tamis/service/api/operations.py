"""Health checks and metrics."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from tamis._version import __version__
from tamis.service.api.auth import CurrentService, in_thread
from tamis.service.api.models.operations import ReadyAnswer
from tamis.service.api.problems import MEDIA_TYPE, RESPONSES, ProblemAnswer, problem

router = APIRouter(tags=["operations"], responses=RESPONSES)


class UnreadyAnswer(ReadyAnswer, ProblemAnswer):
    """The problem that events wait, with the state of the stream."""


_UNREADY = {
    "description": "Events wait (RFC 9457).",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/UnreadyAnswer"}}},
}


@router.get("/ping")
async def ping() -> dict[str, str]:
    """The process answers."""
    return {"tamis": __version__}


@router.get("/ready", response_model=ReadyAnswer, responses={503: _UNREADY})
async def ready(service: CurrentService) -> Any:
    """Events are matched as soon as they are published; 503 if they wait, with what for.

    A stream that starts is warming up until an event of its own has passed through; events are accepted meanwhile.
    """
    found = service.readiness()
    answer = ReadyAnswer(ready=found.is_ready, state=found.state, since=found.since, waits_for=found.waits_for)
    if found.is_ready:
        return answer
    more = answer.model_dump(mode="json")
    return problem(503, "unavailable", found.sentence, headers={"Retry-After": "1"}, **more)


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(service: CurrentService) -> Response:
    """Metrics in the text format of Prometheus."""
    return Response(await in_thread(service.metrics.text), media_type=service.metrics.media_type)
