"""How Kafka is reached: what is wrong is named, and passwords are in no text for people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tamis.sinks.kafka_security import PASSWORD, KafkaSecurity, KafkaSecurityError

FULL = KafkaSecurity("SASL_SSL", "-----BEGIN", "SCRAM-SHA-256", "tamis", 'se"cr\\et')


def test_without_anything_nothing_is_added() -> None:
    assert KafkaSecurity.read() == KafkaSecurity()
    assert (KafkaSecurity().spark_options(), KafkaSecurity().client_settings()) == ({}, {})


def test_spark_and_the_client_are_told_the_same() -> None:
    assert FULL.spark_options() == {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": "-----BEGIN",
        "kafka.sasl.mechanism": "SCRAM-SHA-256",
        "kafka.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="tamis" password="se\\"cr\\\\et";',
    }
    assert FULL.client_settings() == {
        "security.protocol": "SASL_SSL",
        "ssl.ca.pem": "-----BEGIN",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "tamis",
        "sasl.password": 'se"cr\\et',
    }
    only_tls = replace(FULL, protocol="SSL", mechanism="")
    assert {"kafka.sasl.jaas.config", "kafka.sasl.mechanism"}.isdisjoint(only_tls.spark_options())


def test_the_password_is_not_shown() -> None:
    assert "cr" not in repr(FULL)


def test_a_password_comes_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "password").write_text("from a file\n")
    given: dict[str, Any] = {"protocol": "SASL_PLAINTEXT", "user": "u"}
    assert KafkaSecurity.read(**given, password_file=str(tmp_path / "password")).password == "from a file"
    assert KafkaSecurity.read(**given, password="given").password == "given"
    monkeypatch.setenv(PASSWORD, "from the environment")
    found = KafkaSecurity.read(**given)
    assert (found.password, found.mechanism) == ("from the environment", "SCRAM-SHA-512")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"protocol": "TLS"}, "protocol: expected PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL, found 'TLS'"),
        ({"protocol": "SSL", "ca_file": "none.pem"}, "ca_file: none.pem: No such file or directory"),
        ({"protocol": "SSL", "user": "u"}, "user, mechanism, password: expected the protocol SASL_SSL with them"),
        ({"protocol": "SASL_SSL", "user": "u", "mechanism": "GSSAPI"}, "mechanism: expected PLAIN, SCRAM-SHA-256"),
        ({"protocol": "SASL_SSL", "password": "p"}, "user: SASL_SSL needs one"),
        ({"protocol": "SASL_SSL", "user": "u"}, f"password: SASL_SSL needs one; a password is in .*{PASSWORD}"),
    ],
)
def test_what_is_wrong_is_named(
    given: dict[str, str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(PASSWORD, raising=False)
    with pytest.raises(KafkaSecurityError, match=message):
        KafkaSecurity.read(**given)


def test_certificates_need_tls(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("-----BEGIN")
    with pytest.raises(KafkaSecurityError, match="ca_file: expected the protocol SSL or SASL_SSL"):
        KafkaSecurity.read(ca_file=str(tmp_path / "ca.pem"))
