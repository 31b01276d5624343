"""The archive of Spark's classes: made once, taken by Java as it is, and never in the way."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tamis import kernels
from tamis.spark import class_archive
from tamis.spark.session import installed_java, settings


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder without an archive, with the kernels that are compiled: this is not about them."""
    place, compiled = tmp_path / "kernels", kernels.folder()
    assert compiled is not None
    shutil.copytree(compiled, place, ignore=shutil.ignore_patterns("spark-*"), copy_function=os.symlink)
    monkeypatch.setenv("TAMIS_KERNELS", str(place))
    return place


def test_without_an_archive_java_gets_no_option(place: Path) -> None:
    assert class_archive.java_options() == []
    assert "spark.driver.defaultJavaOptions" not in settings("local[2]", {})


def test_an_archive_of_another_size_than_it_had_is_not_named(place: Path) -> None:
    (place / "spark-10.jsa").write_bytes(b"short")
    assert class_archive.java_options() == []
    (place / "spark-10.jsa").write_bytes(b"0123456789")
    named = f"-XX:SharedArchiveFile={place / 'spark-10.jsa'}"
    assert class_archive.java_options()[0] == named
    assert f'"{named}"' in settings("local", {})["spark.driver.defaultJavaOptions"]
    assert "spark.driver.defaultJavaOptions" not in settings("yarn", {}), "Java runs elsewhere"


@pytest.mark.slow
@pytest.mark.spark
def test_java_takes_what_it_made_and_survives_its_damage(spark_environment: None, place: Path) -> None:
    java = installed_java()
    if not class_archive.make(java):  # Java 21, or a trimmed one
        assert class_archive.java_options() == []
        return
    archive = next(place.glob("*.jsa"))
    made = archive.stat().st_mtime_ns
    assert class_archive.make(java)
    assert archive.stat().st_mtime_ns == made, "what is there is left as it is"
    class_path = (place / "spark-class-path").read_text()

    def source_of_spark() -> str:
        submit = "org.apache.spark.deploy.SparkSubmit"
        options = ["-cp", class_path, "-Xlog:class+load:stdout", submit, "--version"]
        java_options = [each for each in class_archive.java_options() if not each.startswith("-Xlog")]
        done = subprocess.run([java, *java_options, *options], capture_output=True, text=True, check=True)
        lines = [line for line in done.stdout.splitlines() if f"{submit} " in line]
        return lines[0].partition("source:")[2].strip()

    assert "shared objects file" in source_of_spark()
    archive.chmod(0o600)
    with archive.open("r+b") as file:
        file.seek(os.path.getsize(archive) // 2)
        file.write(b"damage" * 100)
    assert "shared objects file" not in source_of_spark()


@pytest.mark.slow
@pytest.mark.spark
def test_a_stream_that_fails_is_an_error_with_its_last_line(
    spark_environment: None, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = installed_java()
    monkeypatch.setattr(class_archive, "_can_archive", lambda *_: True)
    monkeypatch.setenv("SPARK_HOME", "/nowhere")
    with pytest.raises(class_archive.ClassArchiveError):
        class_archive.make(java)
    assert list(place.glob("spark-*")) == []
