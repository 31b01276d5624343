"""docs/workloads.md says which parameters there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tamis.lab.workloads import WORKLOADS
from tamis.lab.workloads.parameters import format_value, parameters_of

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "workloads.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## `(\w+)`\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))


def test_every_workload_has_a_section() -> None:
    assert list(SECTIONS) == list(WORKLOADS)


@pytest.mark.parametrize("name", WORKLOADS)
def test_tables_list_exactly_the_parameters_and_their_defaults(name: str) -> None:
    table = SECTIONS[name].partition("| parameter |")[2]
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \|", table, re.MULTILINE)
    known = parameters_of(WORKLOADS[name].parameters)
    assert dict(rows) == {key: format_value(default) for key, (default, _) in known.items()}
