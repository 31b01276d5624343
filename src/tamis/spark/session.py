"""A Spark session as tamis needs it.

What a caller sets wins over what is set here. The environment of the process is as it was once the session is
there: Spark reads some of its settings from nowhere else.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tamis import kernels
from tamis.errors import TamisError, install_command
from tamis.spark.class_archive import java_options
from tamis.spark.workers import start_workers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ATTEMPTS = 4
"""How often a task of a local Spark is tried: Spark's own default on clusters, and 1 on a single machine."""
LOOPBACK = "127.0.0.1"
_INSTALL = "to install it: apt install openjdk-17-jre-headless (Debian, Ubuntu), brew install openjdk@17 (macOS)"
_PACKAGES = "spark.jars.packages"
DAEMON = "spark.python.daemon.module"
_DAEMON_MODULE = "tamis.spark.daemon"
_JAVA_OPTIONS = "spark.driver.defaultJavaOptions"
_LAUNCHER = """#!/bin/sh
# Written by tamis: Python without what Spark puts in front of the installed PySpark.
if [ "$SPARK_HOME" -ef {home} ]; then
    left=
    IFS=:
    for each in $PYTHONPATH; do
        case $each in
            "$SPARK_HOME"/python/lib/*.zip | "$SPARK_HOME"/jars/*) ;;
            *) left=$left${{left:+:}}$each ;;
        esac
    done
    PYTHONPATH=$left
fi
exec {python} "$@"
"""
_LOGGING = Path(__file__).with_name("log4j2.properties").absolute()


class SparkError(TamisError):
    """Spark cannot be started: the message says what is missing, or what Spark says."""


def session(
    app_name: str,
    master: str = "local[*]",
    conf: Mapping[str, str] | None = None,
    *,
    kafka: bool = False,
) -> SparkSession:
    """The Spark session of this process, started if there is none.

    Times are in UTC and data crosses to Python as Arrow. Python workers are forks of a process that has tamis
    loaded (`tamis.spark.daemon`), unless `spark.python.daemon.module` is set otherwise, wherever that may be. A
    Spark of this machine alone (`local`) listens on loopback only, runs this Python, and tries a task again whose
    Python worker was killed.

    Args:
        app_name: What Spark's pages call it.
        master: As Spark has it: `local[4]`, `spark://host:7077`, `yarn`, ...
        conf: Settings of Spark.
        kafka: Is Kafka read or written? Then Spark fetches its own connector, unless `conf` names one.

    Raises:
        SparkError: PySpark or Java is missing, or Spark does not start.
    """
    java = installed_java()
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(app_name).master(retrying(master))
    for name, value in settings(master, conf or {}, kafka=kafka).items():
        gives_way = name in {DAEMON, _JAVA_OPTIONS} and name not in (conf or {})
        if not gives_way or not is_set_for_spark(name):
            builder = builder.config(name, value)
    with _environment(master):
        try:
            spark = builder.getOrCreate()
        except PySparkException as error:
            msg = f"Spark does not start with {java} and master {master}; it needs Java 17 or later: {error}"
            raise SparkError(msg) from error
    if is_local(master):  # elsewhere workers get the driver's kernels, which may not be compiled yet
        start_workers(spark)  # while the caller opens what it needs
    return spark


def settings(master: str, conf: Mapping[str, str], *, kafka: bool = False) -> dict[str, str]:
    """The settings of a session; those of `conf` win.

    >>> settings("yarn", {"spark.log.level": "INFO"})["spark.log.level"]
    'INFO'
    """
    found = {
        DAEMON: _DAEMON_MODULE,
        "spark.log.level": "ERROR",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
    }
    if is_local(master):
        found["spark.driver.extraJavaOptions"] = f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"
        if options := java_options():
            found[_JAVA_OPTIONS] = " ".join(f'"{option}"' for option in options)
        found["spark.driver.memory"] = "2g"
        found["spark.sql.shuffle.partitions"] = str(os.cpu_count() or 1)
    found.update(conf)
    if kafka and not any("kafka" in found.get(name, "") for name in ("spark.jars", _PACKAGES)):
        found[_PACKAGES] = ",".join(filter(None, [found.get(_PACKAGES), _connector()]))
    return found


def is_set_for_spark(name: str) -> bool:
    """Does Spark have this setting from the command line that started it, or from its file of defaults?"""
    if os.environ.get("PYSPARK_GATEWAY_PORT"):  # spark-submit: Java runs already, and knows
        from pyspark import SparkConf, SparkContext

        SparkContext._ensure_initialized()
        return SparkConf().contains(name)
    from pyspark.find_spark_home import _find_spark_home

    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(_find_spark_home(), "conf")
    defaults = Path(folder, "spark-defaults.conf")
    given = defaults.read_text("utf-8") if defaults.is_file() else ""
    in_file = re.search(rf"^\s*{re.escape(name)}[\s=:]", given, re.MULTILINE) is not None
    return in_file or f"{name}=" in os.environ.get("PYSPARK_SUBMIT_ARGS", "")


def is_local(master: str) -> bool:
    """Is this Spark one process of this machine?"""
    return re.fullmatch(r"local(\[.*\])?", master) is not None


def retrying(master: str) -> str:
    """The master with several attempts for each task, where Spark would make one only.

    >>> retrying("local[*]"), retrying("local"), retrying("local[2,1]"), retrying("yarn")
    ('local[*,4]', 'local[1,4]', 'local[2,1]', 'yarn')
    """
    if master == "local":
        return f"local[1,{ATTEMPTS}]"
    cores = re.fullmatch(r"local\[(\*|[0-9]+)\]", master)
    return master if cores is None else f"local[{cores[1]},{ATTEMPTS}]"


def _connector() -> str:
    """Spark's own connector to Kafka, of the same version."""
    from pyspark import __version__

    return f"org.apache.spark:spark-sql-kafka-0-10_2.13:{__version__}"


def installed_java() -> Path:
    """The Java that Spark's launcher takes, where PySpark is installed, too. Nothing is started.

    Raises:
        SparkError: One of the two is missing; the message has the command that installs it.
    """
    if find_spec("pyspark") is None:
        msg = f"this needs PySpark: {install_command('spark')}"
        raise SparkError(msg)
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home, "bin", "java")
        if not java.is_file():
            msg = f"Spark needs Java 17 or later: JAVA_HOME is {home}, and there is no bin/java in it; {_INSTALL}"
            raise SparkError(msg)
        return java
    found = shutil.which("java")
    if found is None:
        msg = f"Spark needs Java 17 or later: set JAVA_HOME, or put java on PATH; {_INSTALL}"
        raise SparkError(msg)
    return Path(found)


def python_launcher() -> str:
    """This Python for Spark's workers, by a script that takes PySpark from where it is installed.

    Spark puts a zip of PySpark in front, from which every process compiles what it imports: 0.9 s of the processor
    until a source answers, where Spark waits ten seconds for it, against 0.3 s with the byte code of the package.
    """
    import pyspark
    from pyspark.find_spark_home import _find_spark_home

    home, folder = _find_spark_home(), kernels.folder()
    if folder is None or os.name != "posix" or not Path(home).samefile(Path(pyspark.__file__).parent):
        return sys.executable
    text = _LAUNCHER.format(home=shlex.quote(home), python=shlex.quote(sys.executable))
    script = folder / f"python-{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"
    if not script.is_file():
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as made:
            made.write(text)
        os.chmod(made.name, 0o755)
        os.replace(made.name, script)
    return str(script) if os.access(script, os.X_OK) else sys.executable


@contextmanager
def _environment(master: str) -> Iterator[None]:
    """What Spark reads from the environment only: which Python workers are, and where a local Spark listens."""
    wanted = {"PYSPARK_PYTHON": python_launcher(), "SPARK_LOCAL_IP": LOOPBACK} if is_local(master) else {}
    missing = {name: value for name, value in wanted.items() if not os.environ.get(name)}
    os.environ.update(missing)
    try:
        yield
    finally:
        for name in missing:
            os.environ.pop(name, None)
