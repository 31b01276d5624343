"""Which inbox a service has, and how Kafka is named."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tamis.service.accounts import Accounts, TenantRights
from tamis.service.inbox import Inbox
from tamis.service.inboxes import open_inbox
from tamis.service.kafka import KafkaError, Topic
from tamis.service.settings import ServiceSettings
from tamis.service.stream import quota_of


def test_events_are_in_a_database_unless_there_is_kafka(tmp_path: Path) -> None:
    inbox = open_inbox(ServiceSettings(data=str(tmp_path)))
    assert isinstance(inbox, Inbox)
    assert (tmp_path / "inbox.db").exists()
    inbox.close()


@pytest.mark.parametrize(
    "url", ["host:1/topic", "kafka://host/topic", "kafka://host:1", "kafka://host:1/", "kafka://h:1/a b"]
)
def test_what_names_no_topic_is_refused(url: str) -> None:
    with pytest.raises(KafkaError, match="expected kafka://host:port,host:port/topic"):
        Topic.of(url)


def test_without_its_client_kafka_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(KafkaError, match=r"pip install '\.\[kafka\]'"):
        open_inbox(ServiceSettings(data=str(tmp_path), kafka="kafka://127.0.0.1:1/events"))


def test_tenants_with_a_quota_are_groups_of_their_own(url: str) -> None:
    accounts = Accounts(url)
    assert not quota_of(accounts).is_limit
    accounts.set_rights("tight", TenantRights(matches_per_minute=3))
    accounts.set_rights("free", TenantRights())
    assert quota_of(accounts).groups == {"tight": 3}
    accounts.set_rights("tight", TenantRights())
    assert not quota_of(accounts).is_limit
    accounts.close()
