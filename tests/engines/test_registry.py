"""Engines by name, with settings, and as objects."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tamis import Matcher
from tamis.engines import ENGINES, engine_of
from tamis.engines.bitslice import Bitslice
from tamis.errors import EngineError
from tamis.lab.mishra_sahni.buckets import Buckets


def test_a_text_names_an_engine_with_its_settings() -> None:
    assert isinstance(engine_of("bitslice"), Bitslice)
    made: Any = engine_of("rtree: inner=4, leaf=8, level=none, weighted=true")
    assert made.name == "rtree"
    assert made._options[:5] == (4, 8, 16, None, True)
    assert {engine_of(name).name for name in ENGINES} == set(ENGINES)


def test_an_engine_object_is_taken_as_it_is() -> None:
    engine = Buckets(capacity=100)
    assert engine_of(engine) is engine
    matcher = Matcher(engine=engine)
    matcher.add("x", "a > 1")
    assert matcher.match({"a": 2}) == ["x"]
    assert matcher.engine == "buckets"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bucket", "there is no engine 'bucket'; known are auto, betree, bitset"),
        ("bitslice:size=3", "engine 'bitslice' cannot take 'size=3': it has no settings"),
        ("buckets:size=3", "its settings are capacity, structure, order"),
        ("buckets:capacity", "written as buckets:key=value"),
        ("buckets:capacity=many", "setting 'capacity' of engine 'buckets' is 'many'; expected int"),
        ("dag:filter=none", "expected auto or"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(EngineError) as caught:
        Matcher(engine=text)
    assert message in str(caught.value)


@pytest.mark.slow
def test_matching_never_imports_the_laboratory() -> None:
    program = """
import sys
from tamis import Matcher
matcher = Matcher(engine="bitslice")
matcher.add("x", "a > 1")
assert matcher.match({"a": 2}) == ["x"]
sys.exit(any(name.startswith("tamis.lab") for name in sys.modules))
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
