"""Logs as JSON lines on standard error: each an object with a time, a level, a message and what belongs to it."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

_log = logging.getLogger(__name__)


class JsonFormatter(logging.Formatter):
    """Writes a record as a line of JSON; `extra={"fields": {...}}` adds to it."""

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            said["trace"] = self.formatException(record.exc_info)
        return json.dumps(said, ensure_ascii=False, default=str)


def relay(line: str, process: str) -> str:
    """Log what another process has written to standard error, and give its message.

    A record of a process that has called `configure` keeps its level; any other line is for information.
    """
    try:
        said = json.loads(line)
        level = logging.getLevelNamesMapping()[said.pop("level").upper()]
        name, message = said.pop("logger"), said.pop("message")
    except (ValueError, TypeError, KeyError, AttributeError):
        _log.info("%s: %s", process, line)
        return line
    said.pop("at", None)
    logging.getLogger(name).log(level, "%s", message, extra={"fields": {"process": process, **said}})
    return str(message)


def configure(level: str) -> None:
    """Let all loggers of the process write JSON lines to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in ("httpx2", "httpcore2", "uvicorn.access", "py4j"):
        logging.getLogger(name).setLevel(logging.WARNING)
