"""The file of a pipeline: what `tamis run` reads.

A pipeline is complete and valid, or never made: everything wrong with a file is raised at once, each problem with
the path of its key and its line. Nothing is opened, made or connected, and Spark is not needed.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from tamis.engines import AUTO, engine_of
from tamis.errors import EngineError, TamisError
from tamis.events.event_type import EventType
from tamis.events.misfits import ON_MISFIT, OnMisfit
from tamis.events.schemas import Problems, show_value
from tamis.progress import HISTORY_BYTES
from tamis.quotas import Quota, QuotaError
from tamis.routing.generalisation import known_measures
from tamis.routing.shards import Routing
from tamis.sinks import SINKS, SinkError
from tamis.sinks.kafka_security import PROTOCOLS, KafkaSecurity, KafkaSecurityError
from tamis.spark.composite_states import CompositeError, CompositeSettings
from tamis.spark.event_reading import ACCEPTANCE_LATENESS, ACCEPTED_AT, MOST_BYTES, Reading
from tamis.spark.pipeline import (
    Files,
    Kafka,
    MetricsServer,
    Pipeline,
    PipelineError,
    PipelineState,
    Rate,
    Socket,
    Source,
    SparkSettings,
    SubscriptionSource,
)
from tamis.spark.pipeline_operators import read_operators
from tamis.spark.session import LOOPBACK
from tamis.spark.stream_query import state_folder
from tamis.spark.toml_tables import TomlTable, with_lines
from tamis.verification.search import GREEDY, check_order

_FORMATS = ("json", "parquet", "kafka", "rate", "socket")
_WITH_TEXTS = ("json", "kafka", "socket")
_WITH_TIMES = ("json", "kafka")
"""Formats whose source says when an event was accepted."""
_SERVER = re.compile(r"\s*([^\s,]+):([0-9]{1,5})\s*")


def load(file: str | os.PathLike[str]) -> Pipeline:
    """The pipeline that a TOML file describes.

    Raises:
        PipelineError: It cannot be read, or something in it is wrong; the message has all problems.
    """
    path = Path(file)
    try:
        text = path.read_text("utf-8")
        content = tomllib.loads(text)
    except OSError as error:
        msg = f"{path}: {error.strerror}"
        raise PipelineError(msg) from error
    except ValueError as error:
        msg = f"{path}: {error}"
        raise PipelineError(msg) from error
    problems = Problems()
    pipeline = _read_pipeline(TomlTable("", content, path.absolute().parent, problems), path)
    if problems.found:
        count = "1 problem" if len(problems.found) == 1 else f"{len(problems.found)} problems"
        msg = f"{path}: {count}\n  " + "\n  ".join(with_lines(problems.found, text))
        raise PipelineError(msg)
    return pipeline


def _read_pipeline(top: TomlTable, file: Path) -> Pipeline:
    source, reading = _events(top)
    subscriptions = _subscriptions(top)
    sink, arguments = _sink(top)
    operators, limits = read_operators(top)
    event_types = _event_types(top)
    pipeline = Pipeline(
        file=file,
        source=source,
        reading=_with_type(reading, event_types),
        subscriptions=subscriptions,
        event_types=event_types,
        sink=sink,
        sink_arguments=arguments,
        quota=_quota(top),
        state=_state(top, subscriptions),
        spark=_spark(top, file),
        trigger=_trigger(top),
        metrics=_metrics(top),
        shards=top.number("shards", 1) or 1,
        routing=_routing(top),
        engine=_engine(top),
        call_order=_call_order(top),
        operators=operators,
        limits=limits,
        composite=_composite(top),
    )
    top.end()
    return pipeline


def _with_type(reading: Reading, event_types: Sequence[EventType]) -> Reading:
    """How events are read that name no type: they are of the pipeline's only one, unless it names another."""
    if reading.event_type is None and len(event_types) == 1:
        return replace(reading, event_type=event_types[0].name)
    return reading


def _section(top: TomlTable, key: str, *, required: bool = True) -> TomlTable:
    """A table of the file; an empty one stands for one that is not there, and asks for nothing."""
    return top.table(key, required=required) or TomlTable(key, {}, top.folder, Problems())


def _kafka_security(top: TomlTable) -> KafkaSecurity:
    """What the table `security` of a source or a sink says."""
    table = top.table("security")
    if table is None:
        return KafkaSecurity()
    given = {name: table.text(name) or "" for name in ("mechanism", "user")}
    files = {name: table.place(name) or "" for name in ("ca_file", "password_file")}
    protocol = table.required_text("protocol", PROTOCOLS)
    table.end()
    if protocol not in PROTOCOLS:  # which is a problem already
        return KafkaSecurity()
    try:
        return KafkaSecurity.read(protocol=protocol, **given, **files)
    except KafkaSecurityError as error:
        top.problems.add(top.at("security"), str(error))
        return KafkaSecurity()


def _events(top: TomlTable) -> tuple[Source, Reading]:
    table = _section(top, "events")
    format = table.required_text("format", _FORMATS)
    source: Source
    match format:
        case "kafka":
            servers = table.required_text("bootstrap_servers")
            if servers and not all(_SERVER.fullmatch(each) for each in servers.split(",")):
                expected = "expected host:port, several with commas"
                table.problems.add(table.at("bootstrap_servers"), f"{expected}, found {show_value(servers)}")
            source = Kafka(
                servers,
                table.texts("topic", required=True),
                table.text("starting_offsets", "earliest") or "",
                table.number("max_offsets_per_trigger"),
                table.strings("options"),
                _kafka_security(table),
            )
        case "rate":
            source = Rate(table.number("rows_per_second", 1) or 1)
        case "socket":
            source = Socket(table.required_text("host"), table.number("port", most=65_535) or 0)
            if "port" not in table.content:
                table.problems.add(table.at("port"), "is missing; expected a whole number from 1 to 65535")
        case _:
            source = Files(format, table.place("path", required=True) or "", table.number("max_files_per_trigger"))
            if Path(source.path).is_file():
                expected = "expected a folder, or a pattern such as 'folder/*.jsonl'"
                table.problems.add(table.at("path"), f"{expected}; {source.path} is a file")
    reading = Reading(
        event_id=table.text("id", "id") or "",
        json="value" if format in _WITH_TEXTS else None,
        type_attribute=table.text("type_attribute"),
        event_type=table.text("event_type"),
        event_time=table.text("time"),
        keep=table.texts("keep"),
        on_misfit=_on_misfit(table),
        accepted_at=ACCEPTED_AT if format in _WITH_TIMES else None,
        acceptance_lateness=(table.duration("acceptance_lateness") if format in _WITH_TIMES else None)
        or ACCEPTANCE_LATENESS,
        most_bytes=table.number("max_event_bytes", MOST_BYTES) or MOST_BYTES
        if format in _WITH_TEXTS
        else MOST_BYTES,
    )
    if reading.event_type is not None and reading.type_attribute is not None:
        table.problems.add(table.at("event_type"), "expected either this or type_attribute, found both")
    if format in _FORMATS:
        table.end()
    return source, reading


def _on_misfit(table: TomlTable) -> OnMisfit:
    given = table.text("on_misfit", choices=ON_MISFIT)
    return next((each for each in ON_MISFIT if each == given), "null")  # another one is a problem already


def _subscriptions(top: TomlTable) -> SubscriptionSource:
    table = _section(top, "subscriptions")
    kinds = ("store", "changes", "snapshot")
    given = [(kind, place) for kind in kinds if (place := table.place(kind)) is not None]
    poll = table.duration("poll", timedelta(seconds=1)) or timedelta()
    if len(given) != 1:
        found = "both " + " and ".join(kind for kind, _ in given) if given else "none"
        table.problems.add(table.path, f"expected one of {', '.join(kinds)}, found {found}")
        given = [("store", "")]
    kind, place = given[0]
    if kind == "changes" and table.content.get(kind) and not Path(place).is_dir():
        table.problems.add(table.at(kind), f"expected a folder, and there is none at {place}")
    table.end()
    return SubscriptionSource(kind, place, poll)


def _engine(top: TomlTable) -> str:
    """The name of an engine, with its settings if there are any."""
    text = top.text("engine", AUTO) or AUTO
    if text != AUTO:
        try:
            engine_of(text)
        except EngineError as error:
            top.problems.add(top.at("engine"), str(error))
    return text


def _call_order(top: TomlTable) -> str:
    text = top.text("call_order", GREEDY) or GREEDY
    try:
        return check_order(text)
    except ValueError as error:
        top.problems.add(top.at("call_order"), str(error))
        return GREEDY


def _event_types(top: TomlTable) -> tuple[EventType, ...]:
    found: list[EventType] = []
    for place, each in enumerate(top.items("event_types", "a list of files, or [[event_types]]")):
        path = f"event_types[{place}]"
        try:
            event_type = EventType.of(str(top.folder / each) if isinstance(each, str) else each)
        except TamisError as error:
            top.problems.add(path, str(error))
            continue
        if any(event_type.name == other.name for other in found):
            top.problems.add(path, f"event type {event_type.name!r} is there twice")
        found.append(event_type)
    return tuple(found)


def _sink(top: TomlTable) -> tuple[str, dict[str, Any]]:
    table = _section(top, "sink")
    name = table.required_text("type", SINKS)
    if name not in SINKS:
        return name, {}
    before = len(table.problems.found)
    arguments: dict[str, Any] = {}
    for key, parameter in inspect.signature(SINKS[name]).parameters.items():
        # The types of a sink's settings are the annotations of its constructor, which are texts in their modules.
        annotation, required = str(parameter.annotation), parameter.default is inspect.Parameter.empty
        value: Any
        if key == "call":
            value = _function(table, "function")
        elif "KafkaSecurity" in annotation:
            value = _kafka_security(table) if key in table.content else None
        elif "timedelta" in annotation:
            value = table.duration(key)
        elif annotation.startswith("int"):
            value = table.number(key)
        elif "Mapping" in annotation:
            value = table.strings(key) or None
        elif "PathLike" in annotation or key == "url":
            value = table.place(key, required=required)
        else:
            value = table.text(key, required=required)
        if value is not None:
            arguments[key] = value
    table.end()
    if len(table.problems.found) == before:
        try:
            SINKS[name](**arguments).close()
        except SinkError as error:
            table.problems.add(table.path, str(error))
    return name, arguments


def _function(table: TomlTable, key: str) -> Callable[..., Any] | None:
    """The function that is meant by `module:name`; a module may be beside the file."""
    given = table.required_text(key)
    module, _, name = given.partition(":")
    if not given:
        return None
    if not module or not name:
        table.problems.add(table.at(key), f"expected 'module:name', found {show_value(given)}")
        return None
    if str(table.folder) not in sys.path:
        sys.path.insert(0, str(table.folder))
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        table.problems.add(table.at(key), f"{given} cannot be imported: {error}")
        return None
    if not callable(found):
        table.problems.add(table.at(key), f"expected a function, found {show_value(found)}")
        return None
    return found


def _quota(top: TomlTable) -> Quota | None:
    table = top.table("quota")
    if table is None:
        return None
    matches, cool_down = table.number("matches"), table.duration("cool_down")
    per = table.duration("per", Quota().per) or Quota().per
    if matches is None and "per" in table.content:
        table.problems.add(table.at("per"), "has no meaning without matches")
    if not {"matches", "cool_down"} & table.content.keys():
        table.problems.add(table.path, "expected matches, cool_down or both")
    table.end()
    try:
        return Quota(matches, per, cool_down)
    except QuotaError:  # noted when it was read
        return None


def _composite(top: TomlTable) -> CompositeSettings | None:
    table = top.table("composite")
    if table is None:
        return None
    given: dict[str, Any] = {"lateness": table.duration("lateness"), "state": table.place("state")}
    for name in ("partitions", "most_per_key", "most_per_subscription", "most_per_group", "most_tries"):
        given[name] = table.number(name)
    table.end()
    try:
        return CompositeSettings(**{name: value for name, value in given.items() if value is not None})
    except CompositeError:  # noted when it was read
        return None


def _routing(top: TomlTable) -> Routing | None:
    table = top.table("routing")
    if table is None:
        return None
    if top.content.get("shards", 1) == 1 and "shard_limit" not in table.content:
        table.problems.add(table.path, "has no meaning without shards")
    usual = Routing()
    budget, sample = table.number("budget", usual.budget, least=0), table.number("sample", usual.sample, least=0)
    measure = table.text("measure", usual.measure, choices=known_measures()) or usual.measure
    flags = {name: table.flag(name) for name in ("by_tenant", "adapts", "merging")}
    limit = table.number("shard_limit", usual.shard_limit, least=1)
    table.end()
    # What is out of bounds was noted when it was read.
    if min(budget or 0, sample or 0) < 0 or (limit is not None and limit < 1) or measure not in known_measures():
        return None
    return Routing(budget or 0, measure, sample=sample or 0, shard_limit=limit, **flags)


def _state(top: TomlTable, subscriptions: SubscriptionSource) -> PipelineState:
    table = _section(top, "state")
    checkpoint = table.place("checkpoint", required=True) or ""
    given = table.place("folder")
    folder = Path(given or ".")
    if checkpoint or given:
        try:
            folder = state_folder(checkpoint, given)
        except TamisError:
            table.problems.add(table.at("folder"), "is missing; the checkpoint is not on this machine")
    snapshot = table.place("snapshot")
    if snapshot is not None and subscriptions.kind == "snapshot":
        table.problems.add(table.at("snapshot"), "has no meaning where subscriptions are a snapshot already")
    retention = table.duration("retention", timedelta(hours=1)) or timedelta()
    history = table.number("history_bytes", HISTORY_BYTES, least=1 << 16) or HISTORY_BYTES
    changes = table.duration("change_retention")
    if changes is not None and subscriptions.kind == "snapshot":
        table.problems.add(table.at("change_retention"), "has no meaning where subscriptions are a snapshot")
    table.end()
    return PipelineState(checkpoint, folder, snapshot or str(folder / "snapshot"), retention, history, changes)


def _spark(top: TomlTable, file: Path) -> SparkSettings:
    table = _section(top, "spark", required=False)
    master = table.text("master", "local[*]") or ""
    app_name = table.text("app_name", f"tamis {file.name}") or ""
    packages, conf = table.texts("packages"), table.strings("conf")
    if packages and "spark.jars.packages" in conf:
        table.problems.add(table.at("packages"), "is given in conf as well")
    table.end()
    return SparkSettings(
        master, app_name, conf | ({"spark.jars.packages": ",".join(packages)} if packages else {})
    )


def _trigger(top: TomlTable) -> dict[str, Any] | None:
    table = top.table("trigger")
    if table is None:
        return None
    interval, now = table.duration("processing_time"), table.flag("available_now")
    if interval is not None and now:
        table.problems.add(table.path, "expected processing_time or available_now, found both")
    table.end()
    if interval is not None:
        return {"processingTime": f"{round(interval.total_seconds() * 1000)} milliseconds"}
    return {"availableNow": True} if now else None


def _metrics(top: TomlTable) -> MetricsServer | None:
    table = top.table("metrics")
    if table is None:
        return None
    port, host = table.number("port", least=0, most=65_535), table.text("host", LOOPBACK)
    if "port" not in table.content:
        table.problems.add(table.at("port"), "is missing; expected a whole number from 0 to 65535")
    table.end()
    return MetricsServer(port or 0, host or "")
