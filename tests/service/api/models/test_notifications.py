"""What OpenAPI says of a notification."""

from __future__ import annotations

from tamis.service.api.models.notifications import DescribedNotificationAnswer, NotificationAnswer


def test_a_described_notification_is_a_notification_with_more() -> None:
    plain, described = NotificationAnswer.model_json_schema(), DescribedNotificationAnswer.model_json_schema()
    assert set(described["properties"]) - set(plain["properties"]) == {"condition", "delivery"}
    assert described["required"] == plain["required"]
