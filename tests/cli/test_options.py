"""Options that several commands share are the same in each of them."""

from __future__ import annotations

import re

import pytest

from tests.cli.conftest import Run

SHARED = {
    "--event-type": ("match", "lint", "show", "explain"),
    "--operators": ("match", "lint", "show", "explain", "test"),
    "--json": ("lint", "show", "explain", "test", "operators", "generate", "run", "config", "demo"),
    "--quiet": ("match", "lint", "test", "generate"),
}


@pytest.mark.slow
@pytest.mark.parametrize("option", SHARED)
def test_the_help_of_a_shared_option_is_the_same_everywhere(run: Run, option: str) -> None:
    helps = set()
    for command in SHARED[option]:
        pattern = rf"^  (?:-q, )?{option}(.*?)(?=^  -|\Z)"
        found = re.search(pattern, run(command, "--help").out, re.MULTILINE | re.DOTALL)
        assert found is not None, command
        helps.add(" ".join(found[1].split()))
    assert len(helps) == 1
