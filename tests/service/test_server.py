"""The process of the service: it listens, or says why not."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tamis.service.folder_lock import LOCK
from tamis.service.server import ListenError, serve
from tamis.service.settings import ServiceSettings


def test_an_address_that_is_taken_is_named_before_anything_is_opened(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = ServiceSettings(data=str(tmp_path / "data"), port=port, stream=False)
        with pytest.raises(ListenError, match=f"cannot listen on 127.0.0.1, port {port}: Address already in use"):
            serve(settings, lambda service, url: None)
    assert [each.name for each in (tmp_path / "data").iterdir()] == [LOCK]


def test_the_service_is_closed_if_it_cannot_start(tmp_path: Path) -> None:
    started = []

    def fail(service: object, url: str) -> None:
        started.append(url)
        raise KeyboardInterrupt

    settings = ServiceSettings(data=str(tmp_path), port=0, stream=False)
    with pytest.raises(KeyboardInterrupt):
        serve(settings, fail)
    host, _, port = started[0].removeprefix("http://").partition(":")
    with socket.create_server((host, int(port))):
        pass  # the address is free again
