"""Real servers for tests, started for the moment and gone with it."""

from __future__ import annotations

import atexit
import importlib.util
import os
import pwd
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from scripts import java_home

_PLACES = ("/usr/lib/postgresql", "/usr/local/pgsql", "/opt/homebrew/opt/postgresql")
_START_SECONDS = 60
_SHORT_LIVED = """\
#!/bin/sh
exec {java} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "$@"
"""


class NoServerError(Exception):
    """The programs of a server are not on this machine."""


def spark_variables() -> dict[str, str]:
    """The environment in which PySpark starts: our Java, the Spark beside our Python, and this Python for workers.

    Workers start as they do for users. From the zip of PySpark, a source takes three times the processor time to
    answer, and Spark waits ten seconds for it: on a busy machine a stream would not start.

    Raises:
        NoServerError: PySpark is not installed.
        java_home.NoJavaError: There is no Java that will do.
    """
    package = importlib.util.find_spec("pyspark")
    if package is None or package.origin is None:
        msg = "PySpark is not installed (extra `spark`)"
        raise NoServerError(msg)
    from tamis.spark.session import python_launcher

    return {
        "JAVA_HOME": str(_short_lived_java(java_home.choose(os.environ, install=False))),
        "SPARK_HOME": str(Path(package.origin).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": python_launcher(),
    }


@cache
def _short_lived_java(home: Path) -> Path:
    """A home of the same Java whose `bin/java` is set for processes that live for seconds.

    The optimising compiler and its threads take half of the processor time of a Spark that starts, and repay it
    later. The packaged Java stays as it is: some tests have to know it.
    """
    if home.is_relative_to(sys.prefix):
        return home
    made = Path(tempfile.mkdtemp(prefix="tamis-java-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    java = made / "bin" / "java"
    java.parent.mkdir()
    made.chmod(0o755)  # Sparks of other users run it, too
    java.write_text(_SHORT_LIVED.format(java=shlex.quote(str(home / "bin" / "java"))), "utf-8")
    java.chmod(0o755)
    return made


@contextmanager
def postgresql() -> Iterator[str]:
    """A PostgreSQL server of its own, in a temporary folder and reached through a socket there; gives its URL.

    Raises:
        NoServerError: PostgreSQL is not installed.
    """
    initdb, postgres = _program("initdb"), _program("postgres")
    # A short path: a socket's name may have a hundred characters.
    with tempfile.TemporaryDirectory(prefix="tamis-pg-", dir="/tmp") as name:
        folder, run_as = Path(name), unprivileged()
        if run_as:
            os.chown(folder, run_as["user"], run_as["group"])
        data = folder / "data"
        making = [initdb, "-D", str(data), "-U", "tamis", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(making, check=True, stdout=subprocess.DEVNULL, cwd=folder, **run_as)
        settings = ["listen_addresses=", f"unix_socket_directories={folder}", "max_connections=50", "fsync=off"]
        options = [word for setting in settings for word in ("-c", setting)]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [postgres, "-D", str(data), *options], stdout=log, stderr=log, cwd=folder, **run_as
            )
        try:
            _wait_until_ready(server, folder)
            yield f"postgresql://tamis@/postgres?host={folder}"
        finally:
            server.send_signal(signal.SIGQUIT)  # at once: nobody needs the data
            server.wait(_START_SECONDS)


S3_KEYS = {"AWS_ACCESS_KEY_ID": "tests", "AWS_SECRET_ACCESS_KEY": "no secret"}


@contextmanager
def s3() -> Iterator[str]:
    """An S3 of its own on this machine, which keeps everything in memory; gives host and port.

    Raises:
        NoServerError: moto is not installed.
    """
    if importlib.util.find_spec("moto") is None or importlib.util.find_spec("flask") is None:
        msg = "moto is not installed (moto[server])"
        raise NoServerError(msg)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="tamis-s3-") as name:
        log = Path(name) / "log"
        with log.open("wb") as out:
            command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
            server = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            _wait_until_it_answers(server, port, log)
            yield f"127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(_START_SECONDS)


def _wait_until_it_answers(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        connection = HTTPConnection("127.0.0.1", port, timeout=_START_SECONDS)
        with suppress(OSError):
            connection.request("GET", "/moto-api/")
            connection.getresponse().read()
            connection.close()
            return
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(log.read_text())
        time.sleep(0.05)


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is not None:
        return found
    places = sorted(path for place in _PLACES for path in Path(place).glob(f"**/bin/{name}"))
    if not places:
        msg = f"PostgreSQL is not installed: there is no {name}"
        raise NoServerError(msg)
    return str(places[-1])


def unprivileged() -> dict[str, Any]:
    """Whom to start a process as that must not be root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _wait_until_ready(server: subprocess.Popen[bytes], folder: Path) -> None:
    import psycopg

    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            psycopg.connect(f"postgresql://tamis@/postgres?host={folder}").close()
            return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((folder / "log").read_text()) from None
            time.sleep(0.05)
