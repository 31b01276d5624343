"""`tamis serve` and `tamis config`: settings here, the service in a process of its own."""

from __future__ import annotations

import html
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import httpx2
import pytest

from tamis.client import Client
from tamis.service.settings import describe_settings
from tests.cli.conftest import Run, Write

PATIENCE_SECONDS = 120


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("TAMIS_")]:
        monkeypatch.delenv(name)


# --- config --------------------------------------------------------------------------------------------------


def test_config_shows_every_setting_as_toml(run: Run) -> None:
    outcome = run("config")
    assert outcome.code == 0
    defaults = {name: [*value] if isinstance(value, tuple) else value for name, value, _ in describe_settings()}
    assert tomllib.loads(outcome.out) == defaults
    assert outcome.out.splitlines()[0] == 'host = "127.0.0.1"  # Address to listen on. [default]'


def test_what_config_shows_is_a_file_of_settings(run: Run, write: Write) -> None:
    shown = run("config", "--set", "hosts=a.example,b.example", "--set", "trigger_seconds=2").out
    again = run("config", "--config", write("tamis.toml", shown), "--json").json
    assert {each["origin"] for each in again} == {"tamis.toml"}
    values = {each["name"]: each["value"] for each in again}
    assert (values["hosts"], values["trigger_seconds"]) == (["a.example", "b.example"], 2.0)


def test_config_shows_settings_of_operators_without_passwords(run: Run, write: Write) -> None:
    text = """[operators.lookup]
url = "postgresql://ann:secret@host/db"
tables.country = {table = "c", key = "id", value = "name"}
"""
    outcome = run("config", "--config", write("tamis.toml", text))
    assert "secret" not in outcome.out
    assert tomllib.loads(outcome.out)["operators"] == {
        "lookup": {
            "url": "postgresql://host/db",
            "tables": {"country": {"table": "c", "key": "id", "value": "name"}},
        }
    }


def test_config_says_where_each_setting_comes_from(
    run: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write("tamis.toml", 'port = 1\nmemory = "1g"\nmaster = "local[1]"\nhost = "a"\n')
    monkeypatch.setenv("TAMIS_PORT", "2")
    monkeypatch.setenv("TAMIS_MEMORY", "2g")
    monkeypatch.setenv("TAMIS_HOSTS", "x, y")
    found = run("config", "--config", file, "--port", "3", "--set", "stream=no", "--set", "host=b", "--json")
    settings = {each["name"]: (each["value"], each["origin"]) for each in found.json}
    assert settings["data"] == ("tamis-data", "default")
    assert settings["master"] == ("local[1]", "tamis.toml")
    assert settings["memory"] == ("2g", "TAMIS_MEMORY")
    assert settings["hosts"] == (["x", "y"], "TAMIS_HOSTS")
    assert settings["port"] == (3, "--port")
    assert settings["stream"] == (False, "--set stream")
    assert settings["host"] == ("b", "--set host")
    assert all(each["help"] for each in found.json)


def test_the_environment_may_name_the_file(run: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAMIS_CONFIG", write("mine.toml", "port = 1\n"))
    assert "port = 1  # Port to listen on; 0 for any free one. [mine.toml]\n" in run("config").out


def test_config_does_not_show_passwords(run: Run) -> None:
    for options in (["--set", "store=postgresql://me:secret@host/db"], ["--set", "store=me:secret@nowhere"]):
        for more in ([], ["--json"]):
            outcome = run("config", *options, *more)
            assert "secret" not in outcome.out + outcome.err


def test_config_does_not_show_the_password_of_kafka(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAMIS_KAFKA_PASSWORD", "secret")
    for more in ([], ["--json"]):
        outcome = run("config", "--set", "kafka=kafka://h:1/t", *more)
        assert "secret" not in outcome.out + outcome.err
        assert '"***"' in outcome.out
    wrong = run("config", "--set", "kafka=kafka://h:1/t", "--set", "kafka_protocol=SASL_SSL")
    assert (wrong.code, wrong.err.startswith("tamis: error: kafka: user: SASL_SSL needs one")) == (2, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "prt=1"], "--set prt: there is no setting 'prt'; known are host, port"),
        (["--set", "port"], "--set: expected NAME=VALUE, found 'port'"),
        (["--set", "stream=maybe"], "--set stream: expected true or false, found 'maybe'"),
        (["--set", "port=70000"], "port: expected 0 to 65535, found 70000"),
        (["--set", "store=nonsense"], "--set store: store: expected the URL of a database"),
        (["--config", "wrong.toml"], "wrong.toml: port: expected a whole number, found 'x'"),
        (["--config", "broken.toml"], "broken.toml: not a TOML file"),
        (["--config", "unknown.toml"], "unknown.toml: there is no setting 'prt'"),
        (["--config", "none.toml"], "none.toml: No such file"),
    ],
)
@pytest.mark.parametrize("command", ["config", "serve"])
def test_a_wrong_setting_is_named_with_its_place(
    run: Run, write: Write, command: str, options: list[str], message: str
) -> None:
    write("wrong.toml", 'port = "x"\n')
    write("broken.toml", "port =\n")
    write("unknown.toml", "prt = 1\n")
    outcome = run(command, *options)
    assert outcome.code == 2
    assert outcome.err.startswith(f"tamis: error: {message}")
    assert not Path("tamis-data").exists()


def test_a_wrong_variable_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAMIS_PORT", "many")
    outcome = run("config")
    assert (outcome.code, outcome.err) == (2, "tamis: error: TAMIS_PORT: expected a whole number, found 'many'\n")


# --- serve ---------------------------------------------------------------------------------------------------


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The service in a process, and what it said until it listened."""
    command = [sys.executable, "-m", "tamis", "serve", "--port", "0", "--set", "stream=false", *options]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            yield process, [process.stdout.readline().rstrip("\n") for _ in range(3)]
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (
            "from tamis.cli import main; main()",
            "Spark needs Java 17 or later: set JAVA_HOME, or put java on PATH; to install it: apt install "
            "openjdk-17-jre-headless (Debian, Ubuntu), brew install openjdk@17 (macOS)",
        ),
        (
            "import sys; sys.modules['pyspark'] = None; from tamis.cli import main; main()",
            "this needs PySpark: pip install '.[spark]' in a clone of tamis",
        ),
    ],
    ids=["java", "spark"],
)
def test_without_java_or_spark_it_says_so_at_once_and_takes_subscriptions(
    tmp_path: Path, program: str, expected: str
) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": ""}
    command = [sys.executable, "-c", program, "serve", "--port", "0"]
    options: dict[str, Any] = {"cwd": tmp_path, "env": environment, "text": True, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, stdout=subprocess.PIPE, **options) as process:
        try:
            assert process.stdout is not None
            said = [process.stdout.readline().rstrip("\n") for _ in range(4)]
            assert said[3] == f"events are not matched yet, they wait: {expected}"
            url, token = address_in(said), (tmp_path / "tamis-data" / "token").read_text().strip()
            with httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}) as client:
                ready = client.get("/ready")
                assert (ready.status_code, ready.json()["detail"]) == (503, f"the stream is failed: {expected}")
                client.cookies.set("tamis_token", token)
                shown = html.unescape(client.get("/", headers={"Accept": "text/html"}).text)
                assert f'role="alert">Events are not matched and wait: {expected}.</p>' in shown
                assert client.post("/v1/subscriptions", json={"condition": "a = 1"}).status_code == 201
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_SECONDS) == 0
        finally:
            process.kill()


def address_in(said: list[str]) -> str:
    return said[0].split()[3].rstrip(",")


@pytest.mark.slow
def test_it_says_where_it_is_and_ends_when_told(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, said):
        url, file = address_in(said), tmp_path / "tamis-data" / "token"
        assert said == [
            f"tamis listens at {url}, data in {tmp_path}/tamis-data",
            f"the administrator's token is in {file}",
            f"  export TAMIS_URL={url} TAMIS_TOKEN=$(cat {file})",
        ]
        assert "tamis" in json.load(urlopen(f"{url}/ping"))
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        with Client(url, token=file.read_text()) as client:
            client.subscribe("price < 300", id="cheap")
            with client.tail(0):
                process.send_signal(signal.SIGTERM)
                assert process.wait(PATIENCE_SECONDS) == 0
    assert "Traceback" not in (tmp_path / "log").read_text()


@pytest.mark.slow
def test_started_again_it_has_what_it_had(tmp_path: Path) -> None:
    tokens = []
    for number in range(2):
        with serving(tmp_path, "--data", "mine") as (process, said):
            tokens.append((tmp_path / "mine" / "token").read_text())
            with Client(address_in(said), token=tokens[-1]) as client:
                client.publish({"id": number})
                kept = [each.id for each in client.events()]
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_SECONDS) == 0
    assert kept == ["1", "0"]
    assert tokens[0] == tokens[1]


def test_a_taken_port_is_named(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        outcome = run("serve", "--port", str(port), "--set", "stream=false")
    assert outcome.code == 2
    assert f"cannot listen on 127.0.0.1, port {port}: Address already in use" in outcome.err


@pytest.mark.slow
@pytest.mark.parametrize("command", ["serve", "config"])
def test_a_base_install_says_what_to_install(command: str) -> None:
    extra = ["sqlalchemy", "pyspark", "prometheus_client", "httpx2", "fastapi", "jinja2", "uvicorn", "starlette"]
    code = f"import sys; sys.modules.update(dict.fromkeys({extra})); from tamis.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    (said,) = done.stderr.splitlines()
    assert said.startswith("tamis: error: this needs ")
    assert said.endswith("which is not installed: pip install '.[service]' in a clone of tamis")
