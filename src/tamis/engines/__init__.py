"""The engines by name; a new one is a file and a line here."""

from __future__ import annotations

from tamis.engines.base import Engine
from tamis.engines.scan import Scan

ENGINES: dict[str, Engine] = {engine.name: engine for engine in (Scan(),)}
"""Every engine by its name."""

AUTO = "scan"
"""What `engine="auto"` stands for today: the only engine there is."""
