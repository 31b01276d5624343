"""What the tests of the command line share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.command import invoke

if TYPE_CHECKING:
    from tamis.client import Client
    from tests.client.server import Served

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Outcome]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, input: str | bytes | None = None) -> Outcome:
        result = invoke(*arguments, input=input)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | list[Any]], str]:
    """Writes a file, from a text or as JSON lines, and gives its name."""

    def write(name: str, content: str | list[Any]) -> str:
        text = content if isinstance(content, str) else "".join(json.dumps(line) + "\n" for line in content)
        (tmp_path / name).write_bytes(text.encode())
        return name

    return write


Write = Callable[[str, "str | list[Any]"], str]


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service for all commands of `tamis client`."""
    from tests.client.server import serving

    with serving(tmp_path_factory.mktemp("service"), webhook_networks=("127.0.0.1/32",)) as served:
        yield served


@pytest.fixture
def served(running: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    """The service, a tenant of the test's own in it, and the environment in which commands find both."""
    from tamis.client import Retries

    running.asked.clear()
    running.faults.clear()
    monkeypatch.setenv("TAMIS_URL", running.url)
    monkeypatch.setenv("TAMIS_TOKEN", running.token(running.new_tenant()))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(Retries, "seconds", lambda *_: 0.0)
    return running


@pytest.fixture
def client(served: Served) -> Iterator[Client]:
    """A client of the test's tenant."""
    from tamis.client import Client

    with Client() as client:
        yield client
