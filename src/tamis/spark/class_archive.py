"""An archive of Spark's classes, which Java maps into memory, so that Spark starts with a third less work.

A Java that starts Spark reads, parses and verifies some 16,000 classes from 280 jars; much of what a first
micro-batch takes is this. Java can write what it made of them to a file and map it the next time (class data
sharing). `make` runs a small stream once and keeps that file beside the compiled kernels, and `java_options` names
it for every later session of this machine.

Java checks the rest: it takes an archive only if it was made by the same Java from the same jars and has its
checksum. Otherwise it reads the classes as if there were no archive. One folder keeps one archive.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tamis import kernels
from tamis.errors import TamisError

SUFFIX = ".jsa"
_CLASS_PATH = "spark-class-path"
_QUIET = ("-Xshare:auto", "-Xlog:disable", "-Xlog:all=off")
_EVENTS = 100


class ClassArchiveError(TamisError):
    """The archive could not be made: the message has the last line that Spark printed."""


def java_options() -> list[str]:
    """The options with which Java maps the archive; none where there is no archive. Nothing is started."""
    archive = _archive()
    return [] if archive is None else [f"-XX:SharedArchiveFile={archive}", "-XX:+VerifySharedSpaces", *_QUIET]


def make(java: Path) -> bool:
    """Make the archive, unless there is one that this Java takes; it takes as long as starting Spark three times.

    False: this Java can make none, or there is no folder to keep it in.

    Raises:
        ClassArchiveError: The stream that loads the classes failed.
    """
    place = kernels.folder()
    if place is None:
        return False
    found, class_path = _archive(), place / _CLASS_PATH
    if found is not None and class_path.is_file() and _is_taken(java, found, class_path.read_text("utf-8")):
        return True
    with tempfile.TemporaryDirectory(dir=place, prefix="spark-classes-") as scratch:
        if not _can_archive(java, Path(scratch)):
            return False
        made, loaded = Path(scratch, "archive"), Path(scratch, "class-path")
        done = subprocess.run(
            [sys.executable, "-m", __name__, made, loaded],
            env={name: value for name, value in os.environ.items() if name != "PYSPARK_SUBMIT_ARGS"},
            cwd=scratch,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise ClassArchiveError((done.stderr.strip().splitlines() or ["no output"])[-1])
        if not made.is_file() or not _is_taken(java, made, loaded.read_text("utf-8")):
            return False
        for older in place.glob(f"*{SUFFIX}"):
            older.unlink()
        loaded.replace(class_path)
        made.replace(place / f"spark-{made.stat().st_size}{SUFFIX}")
    return True


def _archive() -> Path | None:
    """The archive, None if there is none. Its name has its size: Java does not survive one that was cut short."""
    place = kernels.folder()
    found = () if place is None else place.glob(f"spark-*{SUFFIX}")
    return next((path for path in found if path.name == f"spark-{path.stat().st_size}{SUFFIX}"), None)


def _is_taken(java: Path, archive: Path, class_path: str) -> bool:
    """Does this Java take the archive for this class path? It is started for a moment."""
    return _succeeds(java, "-Xshare:on", f"-XX:SharedArchiveFile={archive}", "-cp", class_path, "-version")


def _can_archive(java: Path, scratch: Path) -> bool:
    """Can this Java make an archive for a class path like Spark's, and take it?

    Trimmed runtimes cannot. Java 21 makes one, and refuses it if a class path names a jar twice, as Spark's does.
    """
    from pyspark.find_spark_home import _find_spark_home

    jars = sorted(Path(_find_spark_home(), "jars").glob("slf4j-api-*.jar"))
    class_path, made = os.pathsep.join(map(str, jars * 2)), scratch / "trial"
    _succeeds(
        java, f"-XX:ArchiveClassesAtExit={made}", "-cp", class_path, "org.slf4j.LoggerFactory"
    )  # has no main
    return made.is_file() and _is_taken(java, made, class_path)


def _succeeds(java: Path, *arguments: str) -> bool:
    return subprocess.run([java, *arguments], capture_output=True, check=False).returncode == 0


def _load_classes(archive: Path, class_path: Path) -> None:
    """Run a small stream as a pipeline would, from files to a table, with a Java that archives its classes."""
    from tamis.sinks.delta import DeltaSink
    from tamis.spark import Reading, stream
    from tamis.spark.session import session
    from tamis.store import Store

    store = Store.open(Path("subscriptions.db"))
    store.add("all", "price >= 0")
    Path("in").mkdir()
    lines = (json.dumps({"id": f"e{number}", "price": number}) for number in range(_EVENTS))
    Path("in", "events.jsonl").write_text("\n".join(lines), "utf-8")
    # Java lives for seconds here, and the archive serves every collector and compiler.
    short_lived = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    options = " ".join([f'"-XX:ArchiveClassesAtExit={archive}"', *short_lived, *_QUIET])
    spark = session("tamis warm", "local[2]", {"spark.driver.defaultJavaOptions": options})
    stream(
        spark.readStream.format("text").load("in"),
        store,
        DeltaSink(folder="out"),
        checkpoint="checkpoint",
        reading=Reading(json="value"),
        trigger={"availableNow": True},
    ).awaitTermination()
    gateway: Any = spark.sparkContext._gateway
    class_path.write_text(gateway.jvm.java.lang.System.getProperty("java.class.path"), "utf-8")
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()  # the archive is written as Java ends


if __name__ == "__main__":
    _load_classes(Path(sys.argv[1]), Path(sys.argv[2]))
