"""The application: what runs while it does, and that every route belongs to a part."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from tamis.service.api.app import make_app
from tamis.service.core import Service
from tamis.service.settings import ServiceSettings


def test_the_background_runs_as_long_as_the_application(tmp_path: Path) -> None:
    service = Service(ServiceSettings(data=str(tmp_path), stream=False))
    try:
        with TestClient(make_app(service), base_url="http://127.0.0.1") as client:
            assert client.get("/ready").json()["ready"] is True
            assert not service.stopping.is_set()
        assert service.stopping.is_set()
        tagged = [each for paths in make_app(service).openapi()["paths"].values() for each in paths.values()]
        assert all(each["tags"] for each in tagged)
    finally:
        service.close()
