"""The service in numbers: each that is documented is there, with what was counted."""

from __future__ import annotations

import re
from pathlib import Path

import tamis.service.metrics
from tamis.service.core import Service
from tamis.service.settings import ServiceSettings
from tests.service.living import arrival


def test_what_is_documented_is_measured(tmp_path: Path) -> None:
    service = Service(ServiceSettings(data=str(tmp_path), stream=True))
    try:
        service.inbox.append([arrival("default", "a", {})])
        service.metrics.count_request("GET", "/ping", 200, 0.01)
        service.metrics.count_published(3)
        text = service.metrics.text().decode()
    finally:
        service.close()
    documented = set(re.findall(r"^\| `(\w+)`", tamis.service.metrics.__doc__ or "", re.M))
    assert documented
    assert documented <= {name.partition("{")[0] for name in re.findall(r"^# TYPE (\w+)", text, re.M)} | {
        f"{name}_total" for name in re.findall(r"^# TYPE (\w+?)(?:_total)? counter", text, re.M)
    }
    assert 'tamis_http_requests_total{method="GET",route="/ping",status="200"} 1.0' in text
    assert "tamis_published_total 3.0" in text
    assert "tamis_waiting_events 1.0" in text
    assert "tamis_stream_up 0.0" in text
