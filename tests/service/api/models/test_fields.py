"""Every body refuses what it does not know, and a time is a text."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import TypeAdapter, ValidationError

import tamis.service.api.app  # noqa: F401 - it needs every model
from tamis.service.api.models.fields import Moment, RequestModel


def test_every_body_refuses_fields_that_it_does_not_have() -> None:
    kinds = RequestModel.__subclasses__()
    assert len(kinds) > 10
    for kind in kinds:
        assert kind.model_config["extra"] == "forbid"
        assert kind.model_json_schema()["additionalProperties"] is False


def test_a_time_is_a_text_and_no_number() -> None:
    times = TypeAdapter(Moment)
    assert times.validate_python("2026-07-01T12:00:00Z") == datetime(2026, 7, 1, 12, tzinfo=UTC)
    for wrong in (1_800_000_000, "1800000000", True):
        with pytest.raises(ValidationError):
            times.validate_python(wrong)
