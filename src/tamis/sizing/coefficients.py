"""Coefficients: what was measured on some machine, kept in a file that says when and where.

`coefficients.json` beside this module is shipped; `python -m benchmarks sizing --write FILE` measures others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tamis.errors import TamisError
from tamis.sizing.model import Model

SHIPPED = Path(__file__).with_name("coefficients.json")
_KIND = "tamis.sizing"


@dataclass(frozen=True, slots=True)
class WorkloadCoefficients:
    """Of one kind of subscriptions and events.

    Attributes:
        model: The time of matching.
        matches: Of an event, at `largest` subscriptions.
        largest: The most subscriptions that were measured.
        snapshot_bytes: A subscription, in the snapshot.
        resident_bytes: A subscription, of these in memory after matching; all workers of a node share them.
        worker_bytes: Other memory of one worker.
        event_bytes: As Spark moves one.
        hottest: The work of the hottest of 16 routed shards against the mean.
        visits: Of an event to 16 routed shards.
        error: Of the prediction for `validated` subscriptions, against what was measured; None if it was not.
        validated: At how many subscriptions.
    """

    model: Model
    matches: float
    largest: int
    snapshot_bytes: float
    resident_bytes: float
    worker_bytes: float
    event_bytes: float
    hottest: float = 1.5
    visits: float = 16.0
    error: float | None = None
    validated: int | None = None


@dataclass(frozen=True, slots=True)
class Coefficients:
    """What sizing reckons with.

    Attributes:
        measured: The date.
        machine: Where, in words.
        spark_us: Of a core, that Spark itself takes for an event.
        notification_us: Of a core, to make and write a notification.
        notification_bytes: Of one in the sink.
        batch_seconds: Of a micro-batch with hardly any events.
        driver_task_ms: Of the driver, to schedule a task and take its result.
        publish_seconds: Of the driver, to publish a version with some changes.
        version_bytes: That a version with some changes has every worker's node fetch.
        workloads: By name.
    """

    measured: str
    machine: str
    spark_us: float
    notification_us: float
    notification_bytes: float
    batch_seconds: float
    driver_task_ms: float
    publish_seconds: float
    version_bytes: float
    workloads: Mapping[str, WorkloadCoefficients]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Keep them in a file."""
        Path(path).write_text(json.dumps({"kind": _KIND, **asdict(self)}, indent=1) + "\n", "utf-8")


def read_coefficients(path: str | os.PathLike[str] = SHIPPED) -> Coefficients:
    """The coefficients in a file.

    Raises:
        TamisError: It holds none.
    """
    try:
        content: dict[str, Any] = json.loads(Path(path).read_text("utf-8"))
        if content.pop("kind") != _KIND:
            msg = "another kind of file"
            raise ValueError(msg)
        workloads = {
            name: WorkloadCoefficients(**{**each, "model": _model(each["model"])})
            for name, each in content.pop("workloads").items()
        }
        return Coefficients(workloads=workloads, **content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        msg = f"{os.fspath(path)}: no coefficients as `python -m benchmarks sizing --write` makes them: {error}"
        raise TamisError(msg) from error


def _model(content: Mapping[str, Any]) -> Model:
    return Model(**{**content, "residuals": tuple(content["residuals"])})
