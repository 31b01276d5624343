"""The states of a stream, as OpenAPI lists them."""

from __future__ import annotations

from typing import get_args

from tamis.service.api.models.operations import ReadyAnswer


def test_every_state_is_listed() -> None:
    listed = ReadyAnswer.model_json_schema()["properties"]["state"]["enum"]
    assert set(listed) == set(get_args(ReadyAnswer.model_fields["state"].annotation))
    assert ReadyAnswer(ready=False, state="warming up").waits_for is None
