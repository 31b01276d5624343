"""The description of the API in OpenAPI: what FastAPI generates, and what it cannot know."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from tamis.service.api.operations import UnreadyAnswer
from tamis.service.api.problems import ProblemAnswer


def install(app: FastAPI) -> None:
    """Let an application describe itself completely."""
    generate = app.openapi

    def describe() -> dict[str, Any]:
        content = generate()  # the same mapping each time
        for model in (ProblemAnswer, UnreadyAnswer):
            content["components"]["schemas"][model.__name__] = model.model_json_schema()
        return content

    app.openapi = describe  # type: ignore[method-assign]  # as FastAPI's documentation has it
