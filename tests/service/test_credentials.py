"""Secrets: handed out once, kept as salted hashes."""

from __future__ import annotations

from tamis.service.credentials import new_secret


def test_a_secret_opens_its_own_seal_only() -> None:
    (first, sealed), (second, other) = new_secret(), new_secret()
    assert sealed.opens(first)
    assert not sealed.opens(second)
    assert not other.opens(first)
    assert not sealed.opens("")
    assert not sealed.opens("\ud800"), "half a character is compared like any other text"


def test_nothing_of_a_secret_is_kept_and_no_two_seals_are_alike() -> None:
    made = [new_secret() for _ in range(50)]
    assert len({secret for secret, _ in made}) == len({sealed for _, sealed in made}) == 50
    assert all(secret.encode() not in sealed.hash + sealed.salt for secret, sealed in made)
    assert min(len(secret) for secret, _ in made) >= 43, "256 bits in base64"
