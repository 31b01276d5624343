"""The table `[operators]` of a pipeline: modules, the library, and what conditions may call."""

from __future__ import annotations

from pathlib import Path

import pytest

from tamis.limits import Limits
from tamis.operators import OperatorError
from tamis.operators.discovery import OperatorSettings
from tamis.operators.library import LIBRARY
from tamis.spark.pipeline_file import load
from tamis.spark.pipeline_operators import load_settings
from tests.spark.test_pipeline_file import problems, written


def test_operators_come_from_modules_and_the_library(tmp_path: Path) -> None:
    text = """modules = ["alarms.images", "alarms:made"]
allowed = ["crowd"]
[operators.spatial]
regions = "regions.geojson"
name = "code"
[operators.networks.networks]
home = "home.txt"
work = ["10.0.0.0/8"]
[operators.lookup]
url = "sqlite:///customers.db"
tables.country = {table = "c", key = "id", value = "file"}
[operators.models.models.risk]
file = "risk.onnx"
inputs = ["a"]
"""
    pipeline = load(written(tmp_path, operators=text))
    settings = pipeline.operators
    assert settings.modules == ("alarms.images", "alarms:made")
    assert settings.paths == (str(tmp_path),)
    assert settings.library == {
        "spatial": {"regions": str(tmp_path / "regions.geojson"), "name": "code"},
        "networks": {"networks": {"home": str(tmp_path / "home.txt"), "work": ["10.0.0.0/8"]}},
        "lookup": {
            "url": f"sqlite:///{tmp_path / 'customers.db'}",
            "tables": {"country": {"table": "c", "key": "id", "value": "file"}},
        },
        "models": {"models": {"risk": {"file": str(tmp_path / "risk.onnx"), "inputs": ["a"]}}},
    }
    assert pipeline.limits.operators == frozenset({"crowd"})
    assert load_settings(str(tmp_path / "pipeline.toml")) == settings


def test_without_a_table_operators_are_those_of_packages(tmp_path: Path) -> None:
    pipeline = load(written(tmp_path))
    assert (pipeline.operators, pipeline.limits) == (OperatorSettings(), Limits())
    allowed = load(written(tmp_path, operators="allowed = []"))
    assert allowed.limits.operators == frozenset(), "none at all"


def test_all_problems_of_operators_come_at_once(tmp_path: Path) -> None:
    text = """modules = ["no module"]
allowed = [3]
spatail = {}
[operators.spatial]
region = "regions.geojson"
[operators.rules]
"""
    found = problems(written(tmp_path, operators=text))
    assert [each.partition(": ")[2] for each in found] == [
        "operators.modules: expected 'package.module' or 'package.module:function', found 'no module'",
        "operators.allowed: expected a list of names, found [3]",
        "operators.spatail: is unknown; did you mean 'spatial'?; expected modules, allowed, or one of "
        + ", ".join(LIBRARY),
        "operators.spatial.region: is unknown; did you mean 'regions'?",
        "operators.spatial.regions: is missing",
        "operators.rules.facts: is missing",
    ]
    with pytest.raises(OperatorError, match=r"line \d+: operators.modules: expected"):
        load_settings(str(tmp_path / "pipeline.toml"))
    with pytest.raises(OperatorError, match=r"nothing.toml: No such file"):
        load_settings(str(tmp_path / "nothing.toml"))
