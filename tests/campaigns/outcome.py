"""What a campaign reports: its figures, and every violation of what it is about."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class Outcome:
    """The outcome of a campaign, which grows while it runs.

    Attributes:
        campaign: Its name.
        seed: With which it can be repeated, as far as the clock allows.
        figures: What was done: numbers, texts, or counts by name.
        violations: What must not happen, and did.
        drawings: Charts as HTML, for people.
        is_quiet: Print no progress?
        stop: Is set when the campaign should come to its end, and compare what it has.
    """

    campaign: str
    seed: int
    figures: dict[str, Any] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    drawings: list[str] = field(default_factory=list)
    is_quiet: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    _began: float = field(default_factory=time.monotonic)

    @property
    def ok(self) -> bool:
        """Was nothing violated?"""
        return not self.violations

    @property
    def seconds(self) -> float:
        """Since the campaign began."""
        return time.monotonic() - self._began

    def say(self, progress: str) -> None:
        """Print a line of progress."""
        if not self.is_quiet:
            sys.stderr.write(f"{self.seconds:7.0f} s  {progress}\n")
            sys.stderr.flush()

    def violate(self, what: str) -> None:
        """Note something that must not happen."""
        self.violations.append(what)
        self.say(f"VIOLATION: {what}")

    def to_dict(self) -> dict[str, Any]:
        """All of it, for programs."""
        said = {"campaign": self.campaign, "seed": self.seed, "ok": self.ok, "seconds": round(self.seconds, 1)}
        return {**said, "figures": self.figures, "violations": self.violations}

    def text(self) -> str:
        """All of it, for people."""
        state = "nothing was violated" if self.ok else f"{len(self.violations)} VIOLATIONS"
        lines = [f"campaign {self.campaign}, seed {self.seed}, {self.seconds:,.0f} s: {state}"]
        for name, value in self.figures.items():
            if isinstance(value, Mapping):
                lines.append(f"  {name}:")
                lines += [f"    {key}: {_shown(each)}" for key, each in value.items()]
            else:
                lines.append(f"  {name}: {_shown(value)}")
        lines += [f"  VIOLATION: {each}" for each in self.violations]
        return "\n".join(lines) + "\n"

    def write(self, file: Path) -> None:
        """Write the JSON to a file, the text beside it as .txt, and charts as .html if there are any."""
        from tamis.report import charts

        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(self.to_dict(), indent=1) + "\n", "utf-8")
        file.with_suffix(".txt").write_text(self.text(), "utf-8")
        if self.drawings:
            head = (
                f"<!doctype html><meta charset=utf-8><title>{self.campaign}</title><style>{charts.STYLE}</style>"
            )
            file.with_suffix(".html").write_text(head + "\n".join(self.drawings), "utf-8")


def _shown(value: Any) -> str:
    if isinstance(value, bool | str) or value is None:
        return str(value)
    if isinstance(value, int | float):
        return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
    return json.dumps(value)
