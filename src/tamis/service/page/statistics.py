"""Statistics of a tenant; for the operator also those of the stream, its snapshot and the files."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tamis.errors import TamisError
from tamis.progress import Summary
from tamis.service.core import Service
from tamis.service.page.activity import latency, over_time
from tamis.service.page.overview import batch, stream
from tamis.service.page.page_request import PageData, PageRequest
from tamis.service.stream import STREAM

_HOURS, _SPAN_SECONDS = 24, 1_800
_BATCHES = 240
_VERSIONS = 60


def data(request: PageRequest) -> PageData:
    """What the page shows."""
    service = request.service
    waiting, oldest = request.cached("behind", 1.0, lambda: service.inbox.behind(request.tenant))
    return {
        "tenant": request.tenant,
        "is_operator": request.is_operator,
        "stream": stream(service),
        "latency": latency(request),
        "subscriptions": request.cached("count", 2.0, lambda: service.subscriptions.count(request.tenant)),
        "inbox": {"waiting": waiting, "oldest": oldest},
        "webhooks": request.cached("webhooks", 2.0, lambda: service.webhooks.counts(tenant=request.tenant)),
        "activity": over_time(request, _HOURS * 3_600 // _SPAN_SECONDS, _SPAN_SECONDS),
        "service": _service(request) if request.is_operator else None,
    }


def _service(request: PageRequest) -> dict[str, Any]:
    """Statistics over all tenants."""
    service = request.service
    reports = list(service.reports.last)
    summary = Summary.of(reports)
    waiting, oldest = request.cached("behind, all", 1.0, service.inbox.behind)
    return {
        "started_seconds": service.started,
        "subscriptions": service.subscriptions.total(),
        "store_version": service.store.version(),
        "inbox": {"end": service.inbox.end(), "waiting": waiting, "oldest": oldest},
        "feed": {"end": service.feed.end()},
        "webhooks": request.cached("webhooks, all", 2.0, service.webhooks.counts),
        "batches": {
            "count": summary.batches,
            "events": summary.events,
            "notifications": summary.notifications,
            "dead": summary.dead,
            "misfits": summary.misfits,
            "events_per_second": summary.events_per_second,
            "latency": asdict(summary.latency),
            "last": [batch(each) for each in reports[-_BATCHES:]],
        },
        "operators": [each.to_dict() for each in summary.operators],
        "snapshot": request.cached("snapshot", 5.0, lambda: snapshot(service)),
        "files": _files(service),
    }


def snapshot(service: Service) -> dict[str, Any] | None:
    """The stream's snapshot: its last versions, and the segments of the newest; None if there is none."""
    from tamis.snapshot import Snapshots

    folder = service.settings.folder / STREAM / "snapshot"
    if not folder.is_dir():
        return None
    versions: list[dict[str, Any]] = []
    try:
        snapshots = Snapshots(folder)
        segments: list[dict[str, Any]] = []
        for version in snapshots.versions()[-_VERSIONS:]:
            try:
                manifest = snapshots.manifest(version)
            except TamisError:  # forgotten since it was listed
                continue
            counts = {"slots": manifest.slots, "dead": manifest.dead, "bytes": manifest.bytes}
            live = {"subscriptions": manifest.slots - manifest.dead, "segments": len(manifest.entries)}
            versions.append({"version": version, "created": manifest.created, **counts, **live})
            segments = [
                {"segment": entry.segment, "event_type": entry.event_type, "slots": entry.slots}
                | {"dead": entry.dead, "bytes": entry.bytes}
                for entry in manifest.entries
            ]
        pins = {holder: pin.version for holder, pin in snapshots.pins().items()}
    except (TamisError, OSError) as error:
        return {"problem": str(error), "versions": versions, "segments": [], "pins": {}}
    if not versions:
        return None
    return {"problem": None, "versions": versions, "segments": segments, "pins": pins}


def _files(service: Service) -> dict[str, int]:
    """Bytes of the databases, as far as they are files of the folder."""
    found = {}
    for name in ("store", "feed", "inbox"):
        files = service.settings.folder.glob(f"{name}.db*")
        if sizes := [file.stat().st_size for file in files if file.exists()]:
            found[name] = sum(sizes)
    return found
