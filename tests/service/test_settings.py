"""Settings: from a file, the environment and options; what is wrong is named, all of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tamis.operators.discovery import OperatorSettings
from tamis.service.settings import ServiceSettings, SettingsError, describe_settings, is_secret, load
from tamis.service.stream import _parse_settings, serialize_settings


def file_of(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "tamis.toml"
    path.write_text(text)
    return path


def test_options_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = file_of(tmp_path, 'port = 1\nhost = "a"\ndata = "d"')
    found = load(file, {"TAMIS_PORT": "2", "TAMIS_HOST": "b"}, {"port": 3, "host": None})
    assert (found.settings.port, found.settings.host, found.settings.data) == (3, "b", "d")
    origins = found.origins
    assert (origins["port"], origins["host"], origins["data"], origins["memory"]) == (
        *("--port", "TAMIS_HOST", str(file)),
        "default",
    )


def test_the_environment_may_name_the_file(tmp_path: Path) -> None:
    file = file_of(tmp_path, "port = 1")
    assert load(environment={"TAMIS_CONFIG": str(file)}).settings.port == 1


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("PORT", "0", 0),
        ("TRIGGER_SECONDS", "1", 1.0),
        ("STREAM", "No", False),
        ("STREAM", "1", True),
        ("HOSTS", "a, b,", ("a", "b")),
        ("DATA", "x", "x"),
    ],
)
def test_texts_of_the_environment_are_read_by_type(name: str, text: str, value: Any) -> None:
    assert getattr(load(environment={f"TAMIS_{name}": text}).settings, name.lower()) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("prot = 1", "there is no setting 'prot'; known are host, port"),
        ("port = '1'", "port: expected a whole number, found '1'"),
        ("port = true", "port: expected a whole number, found True"),
        ("hosts = [1]", r"hosts: expected a list of texts, found \[1\]"),
        ("port = ", "not a TOML file"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(SettingsError, match=f"tamis.toml: {problem}"):
        load(file_of(tmp_path, text), {})


def test_what_is_wrong_in_the_environment_is_named() -> None:
    with pytest.raises(SettingsError, match="TAMIS_PORT: expected a whole number, found 'x'"):
        load(environment={"TAMIS_PORT": "x"})


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.toml: No such file"):
        load(tmp_path / "nowhere.toml", {})


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        ServiceSettings(port=70_000, batch_events=0, trigger_seconds=0.0, kafka="localhost", spark=("cores=1",))
    for name in ("port", "batch_events", "trigger_seconds", "kafka", "spark"):
        assert f"{name}: expected" in str(caught.value)


def test_databases_are_files_of_the_folder_unless_told_otherwise(tmp_path: Path) -> None:
    settings = ServiceSettings(data=str(tmp_path), feed="postgresql://host/x")
    assert settings.database("store") == f"sqlite:///{tmp_path}/store.db"
    assert settings.database("feed") == "postgresql://host/x"


def test_settings_of_spark_are_taken_by_name() -> None:
    settings = ServiceSettings(spark=("spark.jars=a.jar,b.jar", "spark.x=a=b"))
    assert settings.spark_settings() == {"spark.jars": "a.jar,b.jar", "spark.x": "a=b"}


def test_operators_are_a_table_with_settings_as_in_a_pipeline(tmp_path: Path) -> None:
    text = """[operators]
modules = ["alarms"]
[operators.networks.networks]
home = "home.txt"
work = ["10.0.0.0/8"]
"""
    found = load(file_of(tmp_path, text), {}).settings.operators
    assert (found.modules, found.paths) == (("alarms",), (str(tmp_path),))
    assert found.library == {
        "networks": {"networks": {"home": str(tmp_path / "home.txt"), "work": ["10.0.0.0/8"]}}
    }


def test_operators_are_also_names_of_modules_and_of_the_library(tmp_path: Path) -> None:
    named = OperatorSettings(("alarms",), {"networks": {}})
    assert load(file_of(tmp_path, 'operators = ["networks", "alarms"]'), {}).settings.operators == named
    assert load(environment={"TAMIS_OPERATORS": "alarms, networks"}).settings.operators == named
    assert load(options={"operators": named}, environment={}).settings.operators == named
    assert load(environment={}).settings.operators == OperatorSettings()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[operators.netwroks]", "operators.netwroks: is unknown; did you mean 'networks'?"),
        ("[operators.spatial]", "operators.spatial.regions: is missing"),
        ('[operators]\nallowed = ["a"]', "operators.allowed: is unknown; the right `operators` of a tenant"),
        ("operators = [1]", "operators: expected a list of texts, found [1]"),
        ("composite_lateness_seconds = -1.0", "composite_lateness_seconds: expected 0 to 31622400, found -1.0"),
        ('call_order = "fastest"', "call_order: there is no order of calls 'fastest'; known are greedy"),
    ],
)
def test_what_is_wrong_with_operators_is_named(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(problem)):
        load(file_of(tmp_path, text), {})


def test_settings_of_operators_reach_the_process_of_the_stream() -> None:
    settings = ServiceSettings(operators=OperatorSettings(("a",), {"networks": {"networks": {"home": ["::/0"]}}}))
    assert _parse_settings(json.loads(serialize_settings(settings))) == settings


def test_every_setting_has_a_help() -> None:
    assert all(help.endswith((".", "?")) for _, _, help in describe_settings())


PEERS = '[[peers]]\nname = "north"\nurl = "http://north"\ntoken = "0123456789abcdef"\n'


def test_neighbours_are_tables_of_the_file_and_texts_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "tamis.toml"
    file.write_text(f'site = "south"\n{PEERS}{PEERS.replace("north", "west")}')
    expected = ("north http://north 0123456789abcdef", "west http://west 0123456789abcdef")
    assert load(file, {}).settings.peers == expected
    assert load(None, {"TAMIS_SITE": "south", "TAMIS_PEERS": ", ".join(expected)}).settings.peers == expected
    assert "0123456789abcdef" not in repr(load(file, {}).settings)
    assert is_secret("peers")
    file.write_text(f'site = "south"\n{PEERS}link_bytes = 500\nlink_measure = "memory"\nlink_merging = false\n')
    [north] = load(file, {}).settings.neighbours
    assert (north.name, north.link_bytes, north.link_measure, north.link_merging) == (
        *("north", 500, "memory"),
        False,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PEERS, "set site"),
        ('site = "South"\n', "site: expected 1 to 63"),
        ('site = "south"\nkafka = "kafka://h:1/t"\n', "from Kafka cannot be sent to neighbours"),
        ('site = "south"\nlink_bytes = -1\n', "link_bytes: expected 0 or more"),
        ('site = "south"\npeers = ["north http://north"]\n', "expected name, url, token of each"),
        ('site = "south"\nlink_measure = "luck"\n', "link_measure: expected one of common, accuracy"),
        ("shard_bytes = -1\n", "shard_bytes: expected 0 or more"),
        ("shard_limit = -1\n", "shard_limit: expected 0 or more"),
        ('shard_measure = "luck"\n', "shard_measure: expected one of common, accuracy"),
        ('site = "south"\n[[peers]]\nname = "north"\n', "table 1: expected the texts name, url, token"),
    ],
)
def test_settings_of_links_that_do_not_fit_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "tamis.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=re.escape(message)):
        load(file, {})
