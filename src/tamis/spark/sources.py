"""The sources of events that a pipeline can name: how each is opened as a stream, tried, and looked into.

Events that are texts stay bytes, line by line, until a worker reads them: so what is no event reaches the dead
letters as it was.
"""

from __future__ import annotations

import fnmatch
import glob
import io
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from tamis.errors import EventError, TamisError
from tamis.spark.event_reading import ACCEPTED_AT
from tamis.spark.pipeline import Files, Kafka, Rate, Socket, Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from tamis.events.event_type import EventType

CONNECT_SECONDS = 10
_PATTERN = re.compile(r"[*?\[{]")
_LINE_END = "\n"
_BYTES = "cast(value AS binary) AS value"
_File: TypeAlias = tuple[Any, str]
"""Where a file is (a filesystem of pyarrow), and its path there."""


def describe(source: Source) -> str:
    """What it is and where, in one line for people."""
    match source:
        case Files():
            kind = "JSON lines" if source.format == "json" else "Parquet files"
            return f"{kind} in {source.path}"
        case Kafka():
            names = (
                "topic " + source.topics[0] if len(source.topics) == 1 else "topics " + ", ".join(source.topics)
            )
            return f"Kafka {names} at {source.servers}"
        case Rate():
            return f"generated, {source.rows_per_second} a second"
        case Socket():
            return f"JSON lines from {source.host}:{source.port}"


def open_stream(spark: SparkSession, source: Source, event_types: Sequence[EventType]) -> DataFrame:
    """The events as a streaming DataFrame: a column `value` of JSON texts, or a column an attribute.

    Records of Kafka and lines of files have a column `ACCEPTED_AT` as well.

    Raises:
        TamisError: The columns are unknown: there are no files yet, and no event type is declared.
    """
    reader = spark.readStream
    match source:
        case Files():
            if source.most_files is not None:
                reader = reader.option("maxFilesPerTrigger", source.most_files)
            if source.format == "json":
                lines = reader.option("lineSep", _LINE_END).text(source.path)
                return lines.selectExpr(_BYTES, f"_metadata.file_modification_time AS {ACCEPTED_AT}")
            return reader.schema(_columns(spark, source, event_types)).parquet(source.path)
        case Kafka():
            reader = reader.format("kafka").options(**_kafka_options(source))
            reader = reader.option("startingOffsets", source.starting_offsets)
            if source.most_offsets is not None:
                reader = reader.option("maxOffsetsPerTrigger", source.most_offsets)
            return reader.load().selectExpr("value", f"timestamp AS {ACCEPTED_AT}")
        case Rate():
            made = reader.format("rate").option("rowsPerSecond", source.rows_per_second).load()
            return made.selectExpr("cast(value AS string) AS id", "value", "timestamp")
        case Socket():
            reader = reader.format("socket").option("host", source.host).option("port", source.port)
            return reader.load().selectExpr(_BYTES)


def check(source: Source) -> None:
    """Can it be reached? Nothing is read.

    Raises:
        TamisError: No, and why.
    """
    match source:
        case Files():
            _files(source)
        case Kafka():
            _connect(source.servers.split(","))
        case Socket():
            _connect([f"{source.host}:{source.port}"])
        case Rate():
            pass


def sample(source: Source, rows: int, spark: Callable[[], SparkSession]) -> pa.Table | None:
    """The first events, as `open_stream` has them; None if reading would take them away.

    Args:
        source: Where events come from.
        rows: At most so many.
        spark: Gives the session; called for Kafka only.
    """
    match source:
        case Files(format="json"):
            lines: list[bytes] = []
            for file in _files(source):
                lines += _first_lines(file, rows - len(lines))
            return pa.table({"value": pa.array(lines, pa.binary())})
        case Files():
            return _first_rows(_files(source), rows)
        case Kafka():
            return _first_records(spark(), source, rows)
        case Rate():
            values = pa.array(range(rows), pa.int64())
            now = pa.repeat(pa.scalar(datetime.now(UTC), pa.timestamp("us", "UTC")), rows)
            return pa.table({"id": values.cast(pa.string()), "value": values, "timestamp": now})
        case Socket():
            return None


def _columns(spark: SparkSession, source: Files, event_types: Sequence[EventType]) -> StructType:
    """The columns of the files that are there, and the attributes of event types that these files lack."""
    from pyspark.sql.types import StructType

    there = _files(source)
    columns = spark.read.parquet(source.path).schema if there else StructType()
    for attribute in (each for event_type in event_types for each in event_type.attributes or ()):
        if attribute.name not in columns.names:
            columns = columns.add(attribute.name, str(attribute.type))
    if not columns.fields:
        msg = f"{source.path}: there are no files yet that have columns; declare an event type"
        raise TamisError(msg)
    return columns


def _kafka_options(source: Kafka) -> dict[str, str]:
    return {
        **source.security.spark_options(),
        **source.options,
        "kafka.bootstrap.servers": source.servers,
        "subscribe": ",".join(source.topics),
    }


def _first_records(spark: SparkSession, source: Kafka, rows: int) -> pa.Table:
    from pyspark.errors import PySparkException

    try:
        records = spark.read.format("kafka").options(**_kafka_options(source)).load()
        return records.select("value").limit(rows).toArrow()
    except PySparkException as error:
        msg = f"{describe(source)}: {str(error).partition(_LINE_END)[0]}"
        raise EventError(msg) from error


def _connect(servers: Sequence[str]) -> None:
    """Connect to any of the servers, given as `host:port`."""
    refusals = []
    for server in servers:
        host, _, port = server.strip().rpartition(":")
        try:
            with closing(socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS)):
                return
        except OSError as error:
            refusals.append(f"{host}:{port}: {error}")
    msg = f"no server answers: {'; '.join(refusals)}"
    raise EventError(msg)


# --- files -------------------------------------------------------------------------------------------------


def _files(source: Files) -> list[_File]:
    """The files that are there, the oldest first, as Spark takes them.

    Raises:
        EventError: The folder cannot be listed.
    """
    from pyarrow.fs import FileSelector, FileSystem, FileType, LocalFileSystem

    url = urlsplit(source.path)
    local = url.scheme in ("", "file") or "://" not in source.path
    path = unquote(url.path) if url.scheme == "file" else source.path
    try:
        if local:
            filesystem, names = LocalFileSystem(), _local_names(Path(path))
            found = filesystem.get_file_info(names)
        else:
            folder, _, pattern = path.rpartition("/") if _PATTERN.search(path) else (path, "", "*")
            filesystem, root = FileSystem.from_uri(re.sub(r"^s3a:", "s3:", folder))
            listed = filesystem.get_file_info(FileSelector(root))
            found = [each for each in listed if fnmatch.fnmatch(each.base_name, pattern)]
    except (OSError, pa.ArrowException) as error:
        msg = f"{source.path} cannot be read: {error}"
        raise EventError(msg) from error
    files = [each for each in found if each.type == FileType.File and not each.base_name.startswith(("_", "."))]
    return [(filesystem, each.path) for each in sorted(files, key=lambda each: (each.mtime_ns, each.path))]


def _local_names(path: Path) -> list[str]:
    if _PATTERN.search(str(path)):
        return glob.glob(str(path))
    return [str(each) for each in path.iterdir()]


def _first_lines(file: _File, rows: int) -> Iterator[bytes]:
    filesystem, path = file
    with filesystem.open_input_stream(path, compression="detect") as stream, io.BufferedReader(stream) as lines:
        for _, line in zip(range(rows), lines, strict=False):
            yield line.removesuffix(b"\n")


def _first_rows(files: Sequence[_File], rows: int) -> pa.Table:
    tables: list[pa.Table] = []
    missing = rows
    for filesystem, path in files:
        if missing <= 0:
            break
        with filesystem.open_input_file(path) as file:
            for batch in pq.ParquetFile(file).iter_batches(batch_size=missing):
                tables.append(pa.Table.from_batches([batch]))
                missing -= batch.num_rows
                break
    return pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({})
