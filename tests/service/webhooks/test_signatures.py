"""Signatures are those of the Standard Webhooks, checked against its own library."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from tamis.service.webhooks import SignatureError, new_secret, sign, signed_headers, verify

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = '{"name": "café", "price": 1.50}'.encode()
NOW = 1_700_000_000


def test_the_signature_of_the_published_example() -> None:
    signature = sign(SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_official_library_takes_what_we_sign_and_we_what_it_signs() -> None:
    library = pytest.importorskip("standardwebhooks").Webhook
    secret, now = new_secret(), int(time.time())
    assert library(secret).verify(BODY, signed_headers(secret, "m1", now, BODY)) == {"name": "café", "price": 1.5}
    theirs = library(secret).sign("m1", datetime.fromtimestamp(now, UTC), BODY.decode())
    headers = {"Webhook-Id": "m1", "Webhook-Timestamp": str(now), "Webhook-Signature": theirs}
    assert verify(secret, headers, BODY) == "m1"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"webhook-id": "m2"}, "no v1 signature"),
        ({"webhook-timestamp": str(NOW + 1)}, "no v1 signature"),
        ({"webhook-signature": "v1,AAAA"}, "no v1 signature"),
        ({"webhook-signature": "v1a," + sign(SECRET, "m1", NOW, BODY)[3:]}, "no v1 signature"),
        ({"webhook-signature": "ü"}, "no v1 signature"),
        ({"webhook-signature": " "}, "no header webhook-signature"),
        ({"webhook-timestamp": "soon"}, "expected seconds since 1970"),
        ({"webhook-timestamp": "9" * 5000}, "expected seconds since 1970"),
    ],
)
def test_a_call_that_was_changed_is_refused(changed: dict[str, str], said: str) -> None:
    with pytest.raises(SignatureError, match=said):
        verify(SECRET, signed_headers(SECRET, "m1", NOW, BODY) | changed, BODY, now=NOW)


def test_another_body_or_secret_is_refused() -> None:
    headers = signed_headers(SECRET, "m1", NOW, BODY)
    assert verify(SECRET, headers, BODY, now=NOW) == "m1"
    with pytest.raises(SignatureError):
        verify(SECRET, headers, BODY + b" ", now=NOW)
    with pytest.raises(SignatureError):
        verify(new_secret(), headers, BODY, now=NOW)


def test_all_missing_headers_are_named() -> None:
    with pytest.raises(SignatureError, match="webhook-id, webhook-timestamp, webhook-signature"):
        verify(SECRET, {}, BODY)


def test_one_good_signature_among_others_is_enough() -> None:
    headers = signed_headers(SECRET, "m1", NOW, BODY)
    headers["webhook-signature"] = f"v2,xyz {sign(new_secret(), 'm1', NOW, BODY)} {headers['webhook-signature']}"
    assert verify(SECRET, headers, BODY, now=NOW) == "m1"


@pytest.mark.parametrize("away", [-301, 301])
def test_a_call_too_old_or_too_early_is_refused(away: int) -> None:
    headers = signed_headers(SECRET, "m1", NOW, BODY)
    with pytest.raises(SignatureError, match="at most 300"):
        verify(SECRET, headers, BODY, now=NOW + away)
    assert verify(SECRET, headers, BODY, now=NOW + away, tolerance_seconds=400) == "m1"
    assert verify(SECRET, headers, BODY, now=NOW + away // 301 * 300) == "m1"


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_not base64", "whsec_äöü"])
def test_what_is_no_secret_is_refused(secret: str) -> None:
    with pytest.raises(SignatureError, match="expected a secret"):
        sign(secret, "m1", NOW, BODY)


def test_secrets_differ_and_are_long() -> None:
    made = {new_secret() for _ in range(100)}
    assert len(made) == 100
    assert all(secret.startswith("whsec_") and len(secret) >= 6 + 32 for secret in made)
