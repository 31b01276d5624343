"""The walk of a new user, from a wheel in a new environment: the tutorial, own data on Spark, a webhook.

`TAMIS_NEW_USER=index` fetches the dependencies from the index, as the user's pip does; otherwise they are borrowed
from the environment of the tests. `TAMIS_DISTRIBUTION` names what is installed, a wheel or an sdist; otherwise a
wheel is built. `make release-check` sets both, for each.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.installed import ROOT, build_wheel, make_environment
from tests.pages import blocks, check, commands

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("drivers")]

_TUTORIAL = ROOT / "docs" / "tutorial.md"
_SERVICE = ROOT / "docs" / "service.md"
_PATIENCE_SECONDS = 300
_END_OF_BLOCK = "\x1e\n"

_READING = {"name": "reading", "attributes": {"sensor": "string", "celsius": "double", "at": "timestamp"}}
_CONDITIONS = {"frost": "celsius < 0", "roof-heat": "sensor = 'roof' AND celsius > 30"}
_PIPELINE = """
event_types = ["reading.json"]

[events]
format = "json"
path = "readings*.jsonl"
time = "at"

[subscriptions]
store = "readings.db"

[sink]
type = "jsonl"
folder = "out"

[state]
checkpoint = "checkpoint"

[spark]
master = "local[1]"

[trigger]
available_now = true
"""


@dataclass(frozen=True)
class User:
    """Somebody with a new environment and a home of their own, and nothing else."""

    python: Path
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        java = {"JAVA_HOME": os.environ["JAVA_HOME"]} if "JAVA_HOME" in os.environ else {}
        path = f"{self.python.parent}:/usr/bin:/bin"
        return {"PATH": path, "HOME": str(self.home), "NO_COLOR": "1", "LC_ALL": "C.UTF-8", **java}

    def run(
        self,
        folder: Path,
        *command: str,
        text: str = "",
        code: int = 0,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        done = subprocess.run(
            command,
            cwd=folder,
            env={**self.environment, **(environment or {})},
            input=text,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
        assert done.returncode == code, (
            f"{shlex.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}"
        )
        return done

    @contextmanager
    def start(self, folder: Path, *command: str) -> Iterator[subprocess.Popen[str]]:
        """A program that runs meanwhile, stopped in the end, or killed when patience ends."""
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(
                command, cwd=folder, env=self.environment, stdout=subprocess.PIPE, stderr=log, text=True
            )
        patience = threading.Timer(_PATIENCE_SECONDS, process.kill)
        patience.start()
        try:
            yield process
        finally:
            patience.cancel()
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
            process.communicate()


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> User:
    folder = tmp_path_factory.mktemp("new-user")
    given = os.environ.get("TAMIS_DISTRIBUTION")
    wheel = Path(given) if given is not None else build_wheel(folder / "dist")
    extras = "service" if os.environ.get("TAMIS_NEW_USER") == "index" else None
    python = make_environment(folder / "environment", wheel, extras)
    (folder / "home").mkdir()
    user = User(python, folder / "home")
    where = user.run(folder, str(python), "-c", "import tamis; print(tamis.__file__)").stdout
    assert Path(where.strip()).is_relative_to(folder), "tamis must be the installed one"
    return user


@pytest.mark.skipif(
    os.environ.get("TAMIS_DISTRIBUTION", "").endswith(".tar.gz"), reason="an sdist carries no compiled kernels"
)
def test_the_wheel_carries_compiled_kernels(user: User, tmp_path: Path) -> None:
    program = "from tamis import kernels, warm; warm.load(); print(kernels.compilations.count, kernels.folder())"
    empty = {"TAMIS_KERNELS": str(tmp_path / "kernels")}
    out = user.run(tmp_path, str(user.python), "-c", program, environment=empty).stdout
    assert out.split() == ["0", str(tmp_path / "kernels")]
    assert not [*(tmp_path / "kernels").iterdir()]


def test_the_tutorial(user: User, tmp_path: Path) -> None:
    examples = tmp_path / "examples"
    shutil.copytree(ROOT / "examples", examples)
    program, expected = [], []
    page = blocks(_TUTORIAL)
    for block, after in zip(page, [*page[1:], None], strict=True):
        if block.language == "console":
            for line, command, output in commands(block):
                done = subprocess.run(
                    shlex.split(command),
                    cwd=examples,
                    env=user.environment,
                    capture_output=True,
                    text=True,
                    timeout=_PATIENCE_SECONDS,
                    check=False,
                )
                check(output, done.stdout, f"tutorial:{line}: {command}\n{done.stderr}")
        elif block.language == "python":
            program.append(f"{block.content}\nprint({_END_OF_BLOCK!r}, end='')\n")
            expected.append((block.line, after.content if after is not None and after.language == "text" else ""))
    *printed, rest = user.run(examples, "python", "-c", "".join(program)).stdout.split(_END_OF_BLOCK)
    assert rest == ""
    for (line, output), got in zip(expected, printed, strict=True):
        check(output, got, f"tutorial:{line}")


def test_a_base_install_names_what_is_missing(user: User, tmp_path: Path) -> None:
    hidden = ["fastapi", "uvicorn", "sqlalchemy", "pyspark"]
    program = f"import sys; sys.modules.update(dict.fromkeys({hidden})); from tamis.cli import main; main()"
    done = user.run(tmp_path, "python", "-c", program, "serve", code=2)
    assert "pip install" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.spark
def test_the_demo(user: User, tmp_path: Path, spark_environment: None) -> None:
    small = ("--subscriptions", "1000", "--events", "2000", "--folder", "demo", "--json")
    told = json.loads(user.run(tmp_path, "tamis", "demo", *small).stdout.splitlines()[-1])  # after the batches
    assert told["events"] == 2000
    assert (tmp_path / "demo" / "report.html").stat().st_size > 10_000


@pytest.mark.spark
def test_own_data_on_spark(user: User, tmp_path: Path, spark_environment: None) -> None:
    readings = [
        {
            "id": f"r{number}",
            "sensor": ("roof", "cellar")[number % 2],
            "celsius": number - 20.0,
            "at": "2026-01-01T00:00:00Z",
        }
        for number in range(60)
    ]
    (tmp_path / "reading.json").write_text(json.dumps(_READING))
    (tmp_path / "readings.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in readings))
    (tmp_path / "mine.jsonl").write_text(
        "".join(f"{json.dumps({'id': id, 'condition': condition})}\n" for id, condition in _CONDITIONS.items())
    )
    (tmp_path / "pipeline.toml").write_text(_PIPELINE)
    user.run(tmp_path, "tamis", "subs", "type", "reading.json", "--store", "readings.db")
    # A store with one event type has that as its default: a typing mistake is noticed at once.
    slip = user.run(tmp_path, "tamis", "subs", "add", "slip", "celsuis < 0", "--store", "readings.db", code=1)
    assert "did you mean celsius" in slip.stderr + slip.stdout
    assert (
        "reading" in user.run(tmp_path, "tamis", "subs", "import", "mine.jsonl", "--store", "readings.db").stdout
    )
    user.run(tmp_path, "tamis", "run", "pipeline.toml", "--dry-run")
    user.run(tmp_path, "tamis", "run", "pipeline.toml")
    found = {
        (line["event_id"], line["subscription_id"])
        for file in (tmp_path / "out").rglob("*.jsonl")
        for line in map(json.loads, file.read_text().splitlines())
        if "subscription_id" in line
    }
    # Reading number n has n - 20 degrees, and those of the roof have even numbers.
    frost = {(f"r{number}", "frost") for number in range(20)}
    heat = {(f"r{number}", "roof-heat") for number in range(52, 60, 2)}
    assert found == frost | heat


@pytest.mark.spark
def test_a_service_with_a_webhook(user: User, tmp_path: Path, spark_environment: None) -> None:
    (receiver,) = [block.content for block in blocks(_SERVICE) if "ThreadingHTTPServer" in block.content]
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "receiver.py").write_text(receiver)
    port = _free_port()
    serve = ["tamis", "serve", "--port", "0", "--set", "webhook_networks=127.0.0.1/32", "--set", "master=local[1]"]
    with (
        user.start(tmp_path, *serve) as service,
        user.start(hook, "python", "receiver.py", str(port)) as receiving,
    ):
        address = _address(service)
        token = (tmp_path / "tamis-data" / "token").read_text().strip()
        told = ("--url", address, "--token", token)
        hooked = ("--webhook", f"http://127.0.0.1:{port}/")
        subscribe = ("tamis", "client", "subscribe", "price < 300", "--id", "cheap", *hooked, "--json", *told)
        (hook / "secret").write_text(json.loads(user.run(tmp_path, *subscribe).stdout)["secret"])
        user.run(tmp_path, "tamis", "client", "publish", "-", *told, text='{"id": "lamp", "price": 199}\n')
        assert receiving.stdout is not None
        assert "lamp" in receiving.stdout.readline()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _address(service: subprocess.Popen[str]) -> str:
    """Where the service listens, by the first line that it prints."""
    assert service.stdout is not None
    (address,) = [word for word in service.stdout.readline().split() if word.startswith("http://")]
    return address.rstrip(",")
