"""A backup of everything that people have set up, for the operator; see `tamis.service.backup`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from tamis.service.api import serializers
from tamis.service.api.auth import CurrentGatekeeper, CurrentService, Operator, in_thread
from tamis.service.api.models.operations import RestoreAnswer
from tamis.service.api.problems import RESPONSES
from tamis.service.backup import BackupError

router = APIRouter(prefix="/v1/backup", tags=["operations"], responses=RESPONSES)

_LINES = {"application/x-ndjson": {"schema": {"type": "string"}}}


@router.get("", response_class=StreamingResponse, responses={200: {"content": _LINES}})
async def read(caller: Operator, service: CurrentService) -> StreamingResponse:
    """Tenants, tokens, event types, advertisements and subscriptions of all tenants, as JSON lines."""

    def lines() -> Iterator[str]:
        for record in service.backup.records():
            yield json.dumps(record, ensure_ascii=False) + "\n"

    return StreamingResponse(lines(), media_type="application/x-ndjson")


@router.post("", response_model=RestoreAnswer, openapi_extra={"requestBody": {"content": _LINES}})
async def restore(
    request: Request,
    caller: Operator,
    service: CurrentService,
    keeper: CurrentGatekeeper,
    replace: Annotated[bool, Query(description="Change subscriptions that are there already?")] = False,
) -> Any:
    """Set up what lines of a backup say; what is refused comes back."""
    body = await request.body()

    def work() -> Any:
        done = service.backup.restore(_parse_lines(body), replace=replace)
        return {**done.restored, "refusals": serializers.refusals(done.refusals)}

    answer = await in_thread(work)
    keeper.forget()
    service.forget_types()
    return answer


def _parse_lines(body: bytes) -> list[Any]:
    """The records of lines.

    Raises:
        BackupError: One of them is not JSON.
    """
    records = []
    for number, line in enumerate(body.split(b"\n"), 1):
        try:
            if line.strip():
                records.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            msg = f"line {number}: not JSON: {error}"
            raise BackupError(msg) from error
    return records
