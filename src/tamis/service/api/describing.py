"""The description of the API in OpenAPI: what FastAPI finds out, and what it cannot know."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from tamis.service.api.problems import ProblemAnswer


def install(app: FastAPI) -> None:
    """Let an application describe itself completely."""
    found_out = app.openapi

    def described() -> dict[str, Any]:
        content = found_out()  # the same mapping each time
        content["components"]["schemas"]["ProblemAnswer"] = ProblemAnswer.model_json_schema()
        return content

    app.openapi = described  # type: ignore[method-assign]  # as FastAPI's documentation has it
