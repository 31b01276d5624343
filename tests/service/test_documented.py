"""The guide names every route and every setting, and none that there is not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tamis.service.api.app import make_app
from tamis.service.core import Service
from tamis.service.settings import ServiceSettings, describe_settings
from tests.conftest import ROOT

GUIDE = ROOT / "docs" / "service.md"


def table(first: str) -> list[list[str]]:
    """The rows of the table whose first column has that title."""
    lines = GUIDE.read_text(encoding="utf-8").split("\n")
    [start] = [number for number, line in enumerate(lines) if line.startswith(f"| {first} |")]
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return rows


def code(cell: str) -> str:
    found = re.fullmatch("`(.*)`", cell)
    assert found is not None, cell
    return found[1]


def shown(value: Any) -> str:
    return json.dumps([*value] if isinstance(value, tuple) else value)


def test_every_setting_is_documented() -> None:
    found = {code(name): (code(default), help) for name, default, help in table("setting")}
    assert found == {name: (shown(default), help) for name, default, help in describe_settings()}


def test_every_route_is_documented(tmp_path: Path) -> None:
    service = Service(ServiceSettings(data=str(tmp_path), stream=False))
    try:
        paths = make_app(service).openapi()["paths"]
    finally:
        service.close()
    routes = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert {code(row[0]) for row in table("route")} == routes | {"GET /openapi.json"}
