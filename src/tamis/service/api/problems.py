"""Errors as the API answers them: problems of RFC 9457, all of one shape.

`type` ends in a word for programs, `detail` is a sentence for people, and `problems` gives the places of mistakes
in a condition or in a request. The status depends on the type and the kind of an error, never on its message.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import compile_path

from tamis.errors import ConditionError, EventError, EventTypeError, SubscriptionError, TamisError
from tamis.service.accounts import AccountError
from tamis.service.errors import Conflict, Forbidden, NotFound, Overloaded, QuotaExceeded, Unauthorized
from tamis.service.ingestion import PublishError
from tamis.service.peers.links import LinkError
from tamis.service.testing import problems_of
from tamis.service.webhooks.records import WebhookError
from tamis.sql.database import DatabaseError, DatabaseProblem

TYPES = "https://tamis.invalid/problems/"
MEDIA_TYPE = "application/problem+json"

_log = logging.getLogger(__name__)

_LONGEST_WAIT_SECONDS = 3_600

_TITLES = {
    "condition": "the condition is refused",
    "not-found": "there is no such thing",
    "conflict": "it exists already",
    "unauthorized": "the caller is not known",
    "forbidden": "the caller may not do that",
    "quota": "the tenant has as many as it may have",
    "rate": "too many requests",
    "invalid": "the request is not valid",
    "unavailable": "try again later",
    "full": "a disk of the service is full",
    "internal": "the service failed",
}

_DATABASE_ANSWERS: dict[DatabaseProblem, tuple[str, str]] = {
    "full": ("full", "the disk of a database is full; nothing was written"),
    "read-only": ("unavailable", "a database is read-only; nothing was written"),
    "failed": ("unavailable", "a database does not answer"),
}


class ProblemAnswer(BaseModel):
    """A problem of RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    problems: list[dict[str, Any]] | None = None


RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A problem (RFC 9457).",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemAnswer"}}},
    }
}


def problem(
    status: int, kind: str, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    """The answer that says what is wrong."""
    body = {"type": TYPES + kind, "title": _TITLES[kind], "status": status, "detail": detail, **more}
    # In ASCII: what is wrong may be half a character, which has no other bytes.
    return Response(json.dumps(body).encode(), status, dict(headers or {}), MEDIA_TYPE)


def answer_of(error: Exception) -> Response:
    """The answer that an error becomes."""
    match error:
        case ConditionError():
            return problem(422, "condition", str(error), problems=problems_of(error.text, error.problems))
        case NotFound():
            return problem(404, "not-found", str(error))
        case Unauthorized():
            return problem(401, "unauthorized", str(error), headers={"WWW-Authenticate": "Bearer"})
        case Forbidden():
            return problem(403, "forbidden", str(error))
        case QuotaExceeded():
            return problem(403, "quota", str(error))
        case Overloaded():
            wait = {"Retry-After": str(math.ceil(min(error.retry_after, _LONGEST_WAIT_SECONDS)))}
            return problem(
                error.status, "rate" if error.status == 429 else "unavailable", str(error), headers=wait
            )
        case PublishError():
            places = [{"event": place, "message": what} for place, what in error.problems]
            return problem(422, "invalid", str(error), problems=places)
        case Conflict():
            return problem(409, "conflict", str(error))
        case LinkError(kind="name" | "url" | "token" | "settings"):
            return problem(422, "invalid", str(error))
        case LinkError():
            return problem(409, "conflict", str(error), link_problem=error.kind)
        case WebhookError(kind="unknown") | SubscriptionError(kind="unknown" | "unknown event type"):
            return problem(404, "not-found", str(error))
        case SubscriptionError(kind="exists" | "event type in use") | WebhookError(kind="running"):
            return problem(409, "conflict", str(error))
        case WebhookError() | SubscriptionError() | EventError() | EventTypeError() | AccountError():
            return problem(422, "invalid", str(error))
        case DatabaseError():
            _log.error("%s", error)  # which database it is, and where, is for the log
            kind, detail = _DATABASE_ANSWERS[error.kind]
            return problem(503, kind, detail, headers={"Retry-After": "1"})
        case TamisError():
            return problem(422, "invalid", str(error))
    _log.error("a request failed", exc_info=error)
    return problem(500, "internal", "the service has made a mistake, which is in its log")


def install(app: FastAPI) -> None:
    """Let an application answer with problems only."""

    @app.exception_handler(TamisError)
    async def answer_refusal(_: Request, error: TamisError) -> Response:
        return answer_of(error)

    @app.exception_handler(Exception)
    async def answer_failure(_: Request, error: Exception) -> Response:
        return answer_of(error)

    @app.exception_handler(ClientDisconnect)
    async def answer_nobody(_: Request, error: ClientDisconnect) -> Response:
        return problem(400, "invalid", "the request broke off")

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        found = [
            {"field": ".".join(str(part) for part in each["loc"]), "message": each["msg"]}
            for each in error.errors()
        ]
        said = "; ".join(f"{each['field']}: {each['message']}" for each in found[:3])
        return problem(422, "invalid", said, problems=found)

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> Response:
        kinds = {401: "unauthorized", 403: "forbidden", 404: "not-found", 413: "invalid"}
        kind = kinds.get(error.status_code, "invalid" if error.status_code < 500 else "internal")
        phrase = HTTPStatus(error.status_code).phrase
        headers = dict(error.headers or {})
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            headers = {"Allow": _methods(request) or headers.get("allow", "")}
        return problem(error.status_code, kind, str(error.detail or phrase), headers=headers)


def _methods(request: Request) -> str:
    """All methods that the API has for a path; a router names those of its first route only."""
    path, described = request.url.path, request.app.openapi()["paths"]
    for template, methods in sorted(described.items(), key=lambda item: "{" in item[0]):
        if compile_path(template)[0].fullmatch(path):
            return ", ".join(sorted(method.upper() for method in methods))
    return ""
