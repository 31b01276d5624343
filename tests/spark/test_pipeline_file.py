"""What a file of a pipeline may say, and what is said about one that is wrong. No Spark."""

from __future__ import annotations

import re
import sys
import tomllib
from datetime import timedelta
from pathlib import Path

import pytest

from tamis.quotas import Quota
from tamis.routing.shards import Routing
from tamis.sinks import SINKS
from tamis.sinks.kafka_security import PASSWORD, KafkaSecurity
from tamis.spark.composite_states import CompositeSettings
from tamis.spark.event_reading import MOST_BYTES, Reading
from tamis.spark.pipeline import Files, Kafka, Pipeline, PipelineError, Rate, Socket
from tamis.spark.pipeline_file import load

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "run-a-pipeline.md").read_text("utf-8")
SMALLEST = {
    "events": 'format = "json"\npath = "in"',
    "subscriptions": 'store = "subs.db"',
    "sink": 'type = "jsonl"\nfolder = "out"',
    "state": 'checkpoint = "checkpoint"',
}


def written(folder: Path, top: str = "", **tables: str | None) -> Path:
    """A file of the smallest tables, with others in their place or beside them; None leaves one out."""
    merged = {**SMALLEST, **tables}
    parts = [top, *(f"[{name}]\n{text}" for name, text in merged.items() if text is not None)]
    file = folder / "pipeline.toml"
    file.write_text("\n".join(parts) + "\n")
    return file


def problems(file: Path) -> list[str]:
    with pytest.raises(PipelineError) as caught:
        load(file)
    head, *found = str(caught.value).split("\n  ")
    assert head == f"{file}: 1 problem" if len(found) == 1 else f"{file}: {len(found)} problems"
    return found


def test_the_smallest_file_has_defaults_for_the_rest(tmp_path: Path) -> None:
    pipeline = load(written(tmp_path))
    assert pipeline.source == Files("json", str(tmp_path / "in"))
    assert pipeline.reading == Reading(json="value", accepted_at="accepted_at")
    assert (pipeline.subscriptions.kind, pipeline.subscriptions.place) == ("store", str(tmp_path / "subs.db"))
    assert pipeline.subscriptions.poll == timedelta(seconds=1)
    assert pipeline.state.checkpoint == str(tmp_path / "checkpoint")
    assert pipeline.state.folder == tmp_path / "checkpoint" / "tamis"
    assert pipeline.state.snapshot == str(tmp_path / "checkpoint" / "tamis" / "snapshot")
    assert (pipeline.spark.master, pipeline.spark.app_name) == ("local[*]", "tamis pipeline.toml")
    assert (pipeline.quota, pipeline.trigger, pipeline.metrics, pipeline.event_types) == (None, None, None, ())
    assert (pipeline.shards, pipeline.engine, pipeline.call_order) == (1, "auto", "greedy")


@pytest.mark.lab
def test_an_engine_may_have_settings(tmp_path: Path) -> None:
    pipeline = load(written(tmp_path, 'engine = "buckets:capacity=100"'))
    assert pipeline.engine == "buckets:capacity=100"
    [problem] = problems(written(tmp_path, 'engine = "buckets:capacty=100"'))
    assert "engine: " in problem and "capacty" in problem


def test_everything_can_be_said(tmp_path: Path) -> None:
    pipeline = load(
        written(
            tmp_path,
            'shards = 3\nengine = "scan"\ncall_order = "sequential"',
            events='format = "parquet"\npath = "s3://b/in"\nid = "order"\ntype_attribute = "kind"\ntime = "at"\n'
            "max_files_per_trigger = 4",
            subscriptions='snapshot = "hdfs://c/subs"\npoll = "30s"',
            quota='matches = 5\nper = "1h"\ncool_down = "2 minutes"',
            state='checkpoint = "s3://b/checkpoint"\nfolder = "state"\nretention = "2d"\nhistory_bytes = 100000',
            spark='master = "yarn"\napp_name = "alerts"\npackages = ["a:b:1"]\nconf = { "spark.x" = true }',
            trigger='processing_time = "1 second"',
            metrics='port = 9100\nhost = "0.0.0.0"',
            routing='budget = 5000\nmeasure = "accuracy"\nmerging = true',
        )
    )
    assert pipeline.source == Files("parquet", "s3://b/in", 4)
    assert pipeline.reading == Reading("order", None, "kind", "at", MOST_BYTES)
    assert pipeline.subscriptions.poll == timedelta(seconds=30)
    assert pipeline.quota == Quota(5, timedelta(hours=1), timedelta(minutes=2))
    assert (pipeline.state.folder, pipeline.state.retention) == (tmp_path / "state", timedelta(days=2))
    assert pipeline.state.history_bytes == 100_000
    assert pipeline.spark.conf == {"spark.x": "true", "spark.jars.packages": "a:b:1"}
    assert pipeline.trigger == {"processingTime": "1000 milliseconds"}
    assert (pipeline.shards, pipeline.engine, pipeline.call_order) == (3, "scan", "sequential")
    assert not pipeline.uses_kafka
    assert pipeline.routing == Routing(5_000, "accuracy", merging=True)


def test_the_log_of_a_store_can_be_bounded_that_of_a_snapshot_not(tmp_path: Path) -> None:
    state = 'checkpoint = "checkpoint"\nchange_retention = "90d"'
    assert load(written(tmp_path, state=state)).state.change_retention == timedelta(days=90)
    with pytest.raises(PipelineError, match=r"state\.change_retention: has no meaning"):
        load(written(tmp_path, state=state, subscriptions='snapshot = "subs"'))


def test_each_source_has_its_own_keys(tmp_path: Path) -> None:
    def events(text: str) -> Pipeline:
        return load(written(tmp_path, events=text))

    kafka = events(
        'format = "kafka"\nbootstrap_servers = "a:1, b:2"\ntopic = ["x", "y"]\nstarting_offsets = "latest"\n'
        'max_offsets_per_trigger = 9\nmax_event_bytes = 100\nacceptance_lateness = "5m"\n'
        'options = { "kafka.security.protocol" = "SSL" }'
    )
    options = {"kafka.security.protocol": "SSL"}
    assert kafka.source == Kafka("a:1, b:2", ("x", "y"), "latest", 9, options)
    assert (kafka.reading.json, kafka.reading.most_bytes, kafka.uses_kafka) == ("value", 100, True)
    assert kafka.reading.acceptance_lateness == timedelta(minutes=5)
    assert events('format = "rate"\nrows_per_second = 5').source == Rate(5)
    assert events('format = "socket"\nhost = "h"\nport = 99').source == Socket("h", 99)


def test_the_sink_has_a_security_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("hidden\n")
    kafka = 'type = "kafka"\nbootstrap_servers = "a:1"\ntopic = "x"\ndead_topic = "y"\nstate = "sink"\n'
    security = '[sink.security]\nprotocol = "SASL_SSL"\nuser = "me"\n'
    pipeline = load(written(tmp_path, sink=f'{kafka}{security}password_file = "password"'))
    assert pipeline.sink_arguments["security"] == KafkaSecurity("SASL_SSL", "", "SCRAM-SHA-512", "me", "hidden")
    assert "hidden" not in repr(pipeline)
    assert "security" not in load(written(tmp_path, sink=kafka)).sink_arguments
    (problem,) = problems(written(tmp_path, sink=f"{kafka}{security}"))
    assert "sink.security: password: SASL_SSL needs one" in problem


def test_what_may_be_secret_is_not_printed(tmp_path: Path) -> None:
    pipeline = load(
        written(
            tmp_path,
            events='format = "kafka"\nbootstrap_servers = "a:1"\ntopic = "x"\noptions = { "kafka.x" = "hidden" }',
            subscriptions='store = "postgresql://u:hidden@h/d"',
            sink='type = "delta"\nfolder = "s3://b/out"\n'
            'storage_options = { AWS_SECRET_ACCESS_KEY = "hidden", AWS_REGION = "eu-west-1" }',
            state='checkpoint = "s3://k:hidden@b/c"\nfolder = "state"\nsnapshot = "s3://k:hidden@b/s"',
            spark='master = "local"\nconf = { "spark.hadoop.fs.s3a.secret.key" = "hidden" }',
        )
    )
    assert pipeline.sink_arguments["storage_options"]["AWS_SECRET_ACCESS_KEY"] == "hidden"
    assert "hidden" not in repr(pipeline)
    with pytest.raises(PipelineError, match="storage_options") as raised:
        load(written(tmp_path, sink='type = "delta"\nfolder = "s3://b/out"\nstorage_options = "hidden"'))
    assert "hidden" not in str(raised.value)


KAFKA = 'format = "kafka"\nbootstrap_servers = "a:1"\ntopic = "x"\n'


def test_kafka_may_be_reached_with_tls_and_sasl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ca.pem").write_text("-----BEGIN")
    (tmp_path / "password").write_text("from a file\n")
    monkeypatch.setenv(PASSWORD, "from the environment")
    security = '[events.security]\nprotocol = "SASL_SSL"\nca_file = "ca.pem"\nmechanism = "PLAIN"\nuser = "u"\n'
    for more, password in (("", "from the environment"), ('password_file = "password"\n', "from a file")):
        source = load(written(tmp_path, events=KAFKA + security + more)).source
        assert isinstance(source, Kafka)
        assert source.security == KafkaSecurity("SASL_SSL", "-----BEGIN", "PLAIN", "u", password)
        assert password not in repr(source)


@pytest.mark.parametrize(
    ("security", "message"),
    [
        ('user = "u"', "events.security.protocol: is missing"),
        ('protocol = "TLS"', "events.security.protocol: expected one of PLAINTEXT, SSL"),
        ('protocol = "SSL"\nca_file = "none.pem"', "events.security: ca_file: .*none.pem: No such file"),
        ('protocol = "SSL"\npassword = "p"', "events.security.password: is unknown"),
    ],
)
def test_how_kafka_is_reached_is_checked(tmp_path: Path, security: str, message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        load(written(tmp_path, events=f"{KAFKA}[events.security]\n{security}\n"))


@pytest.mark.parametrize("name", SINKS)
def test_every_sink_can_be_named(tmp_path: Path, name: str) -> None:
    arguments = {
        "delta": 'folder = "out"\ncompact_every = 1000\noutput_retention = "90d"',
        "parquet": 'folder = "out"\nretention = "2d"',
        "jsonl": 'folder = "out"',
        "sql": 'url = "sqlite:///found.db"',
        "webhook": 'url = "sqlite:///found.db"',
        "kafka": 'bootstrap_servers = "a:1"\ntopic = "t"\ndead_topic = "d"\nstate = "s"\noptions = { "a" = "b" }',
        "callback": 'function = "json:dumps"\nstate = "s"',
    }
    pipeline = load(written(tmp_path, sink=f'type = "{name}"\n{arguments[name]}'))
    sink = pipeline.make_sink()
    assert sink.name == name
    assert str(tmp_path) in sink.describe() or name in ("kafka", "callback")
    sink.close()


def test_a_function_may_be_in_a_module_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "beside_the_file.py").write_text("def take(delivery): ...\n")
    pipeline = load(written(tmp_path, sink='type = "callback"\nfunction = "beside_the_file:take"'))
    assert pipeline.make_sink().describe() == "calls of take, at least once"


def test_event_types_are_files_or_tables(tmp_path: Path) -> None:
    (tmp_path / "sale.json").write_text('{"name": "sale", "attributes": {"price": "double"}}')
    files = load(written(tmp_path, 'event_types = ["sale.json"]')).event_types
    tables = load(
        written(tmp_path, '[[event_types]]\nname = "sale"\nattributes = { price = "double" }\n')
    ).event_types
    assert files == tables
    assert [each.name for each in files] == ["sale"]


def test_events_are_of_one_type_or_name_theirs(tmp_path: Path) -> None:
    events = f'{SMALLEST["events"]}\nevent_type = "sale"'
    top = '[[event_types]]\nname = "visit"\n'
    assert load(written(tmp_path, top, events=events)).reading.event_type == "sale"
    assert load(written(tmp_path, top)).reading.event_type == "visit"
    (problem,) = problems(written(tmp_path, events=f'{events}\ntype_attribute = "kind"'))
    assert problem.endswith("events.event_type: expected either this or type_attribute, found both")


def test_all_problems_come_at_once_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("{}\n")
    file = tmp_path / "pipeline.toml"
    file.write_text(
        """\
shards = 0
engin = "scan"
event_types = ["nowhere.json"]

[events]
format = "json"
path = "events.jsonl"
topic = "x"

[subscriptions]
store = "subs.db"
changes = "nowhere"

[sink]
type = "parquett"

[state]
checkpoint = "s3://bucket/checkpoint"

[quota]
per = "soon"

[spark]
conf = { "spark.x" = [1] }

[metrics]
host = "0.0.0.0"
"""
    )
    found = problems(file)
    nowhere = tmp_path / "nowhere.json"
    assert found == [
        f"line 7: events.path: expected a folder, or a pattern such as 'folder/*.jsonl'; "
        f"{tmp_path / 'events.jsonl'} is a file",
        "line 8: events.topic: is unknown; expected one of format, path, max_files_per_trigger, id, "
        "type_attribute, event_type, time, keep, on_misfit, acceptance_lateness, max_event_bytes",
        "line 10: subscriptions: expected one of store, changes, snapshot, found both store and changes",
        "line 15: sink.type: expected one of delta, parquet, jsonl, sql, webhook, kafka, callback, "
        "found 'parquett'; did you mean 'parquet'?",
        f"line 3: event_types[0]: event type {nowhere}: No such file or directory",
        "line 21: quota.per: expected a duration such as '500ms', '30s', '5 minutes', '12h' or '7d', found 'soon'",
        "line 21: quota.per: has no meaning without matches",
        "line 20: quota: expected matches, cool_down or both",
        "line 17: state.folder: is missing; the checkpoint is not on this machine",
        "line 24: spark.conf.spark.x: expected a text, found a value of list",
        "line 26: metrics.port: is missing; expected a whole number from 0 to 65535",
        "line 1: shards: expected a whole number from 1 on, found 0",
        "line 2: engin: is unknown; did you mean 'engine'?",
    ]


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ({"events": None}, "events: is missing; expected a table"),
        ({"routing": "budget = 5"}, "line 12: routing: has no meaning without shards"),
        ({"state": ""}, "line 10: state.checkpoint: is missing; expected a text"),
        ({"subscriptions": ""}, "line 5: subscriptions: expected one of store, changes, snapshot, found none"),
        (
            {"events": 'format = "jsn"\npath = "in"'},
            "line 3: events.format: expected one of json, parquet, kafka, rate, socket, found 'jsn'; "
            "did you mean 'json'?",
        ),
        (
            {"events": 'format = "kafka"\nbootstrap_servers = "a"\ntopic = "x"'},
            "line 4: events.bootstrap_servers: expected host:port, several with commas, found 'a'",
        ),
        ({"sink": 'type = "jsonl"'}, "line 7: sink.folder: is missing; expected a text"),
        (
            {"sink": 'type = "jsonl"\nfolder = "x"\nfolders = "y"'},
            "line 10: sink.folders: is unknown; did you mean 'folder'?",
        ),
        (
            {"sink": 'type = "sql"\nurl = "mysql://x/y"'},
            "line 7: sink: sink sql: mysql://x/y: expected a SQLite file (sqlite:///...) or PostgreSQL (postgresql://...)",
        ),
        (
            {"sink": 'type = "callback"\nfunction = "json:nothing"'},
            "line 9: sink.function: json:nothing cannot be imported: module 'json' has no attribute 'nothing'",
        ),
        (
            {"trigger": 'available_now = true\nprocessing_time = "1s"'},
            "line 12: trigger: expected processing_time or available_now, found both",
        ),
    ],
)
def test_a_problem_says_what_was_expected(tmp_path: Path, tables: dict[str, str | None], expected: str) -> None:
    assert problems(written(tmp_path, "", **tables)) == [expected]


def test_what_is_no_toml_has_its_place(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.toml"
    file.write_text("[events\n")
    with pytest.raises(PipelineError, match=r"pipeline\.toml: .*line 1, column 8"):
        load(file)
    with pytest.raises(PipelineError, match=r"nowhere\.toml: No such file"):
        load(tmp_path / "nowhere.toml")


def test_the_page_shows_the_example() -> None:
    shown = re.search(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert tomllib.loads(shown[1]) == tomllib.loads((ROOT / "examples" / "pipeline.toml").read_text("utf-8"))


@pytest.mark.parametrize(
    "events",
    [
        'format = "json"\npath = "in"',
        'format = "kafka"\nbootstrap_servers = "a:1"\ntopic = "t"',
        'format = "rate"',
        'format = "socket"\nhost = "h"\nport = 1',
    ],
)
def test_every_key_is_documented(tmp_path: Path, events: str) -> None:
    unknown = "zzz = 1"
    given = {"events": events, "subscriptions": SMALLEST["subscriptions"], "state": SMALLEST["state"]}
    more = {"quota": "matches = 1", "spark": "", "trigger": "", "metrics": "port = 1"}
    tables = {name: f"{text}\n{unknown}" for name, text in (given | more).items()}
    found = problems(written(tmp_path, unknown, **tables))
    assert len(found) == 8
    for problem in found:
        path, keys = problem.split(": ")[1], problem.partition("expected one of ")[2].split(", ")
        table = path.rpartition(".")[0]
        assert keys != [""]
        missing = [key for key in keys if not re.search(rf"`\[?({table}\.)?{key}\]?`", PAGE)]
        assert not missing, f"{table}: {missing}"


def test_how_composite_subscriptions_are_kept_can_be_said(tmp_path: Path) -> None:
    assert load(written(tmp_path)).composite is None
    given = 'lateness = "2 minutes"\npartitions = 8\nmost_per_key = 9\nstate = "s3://b/composite"'
    expected = CompositeSettings(timedelta(minutes=2), 8, 9, state="s3://b/composite")
    assert load(written(tmp_path, composite=given)).composite == expected
    with pytest.raises(PipelineError, match=r"composite\.partitions(.|\n)*composite\.latness"):
        load(written(tmp_path, composite='partitions = 0\nlatness = "2s"'))
