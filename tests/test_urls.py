"""What paths and URLs name is decided by their text alone: nothing needs to exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from tamis.urls import absolute, is_store, without_secrets


@pytest.mark.parametrize(
    "place",
    [
        *("alerts.db", "folder/alerts.sqlite", "/folder/alerts.sqlite3", "sqlite:///alerts", "sqlite://"),
        *("postgresql://host/alerts", "postgresql+psycopg://user@host/alerts", "postgres://host/alerts"),
    ],
)
def test_stores(place: str) -> None:
    assert is_store(place)


@pytest.mark.parametrize(
    "place",
    [
        *(
            "alerts.jsonl",
            "alerts.parquet",
            "alerts.db.gz",
            "folder.db/alerts.csv",
            "db",
            "postgresql",
            "snapshot",
        ),
        *("s3://bucket/alerts", "http://host/sqlite:"),
    ],
)
def test_other_files_and_urls(place: str) -> None:
    assert not is_store(place)


@pytest.mark.parametrize(
    "url", ["s3://bucket/alerts", "sqlite:///alerts.db", "file:///folder/alerts", "sqlite://"]
)
def test_urls_mean_the_same_in_every_folder(url: str) -> None:
    assert absolute(url) == url


@pytest.mark.parametrize(
    ("place", "parts"),
    [
        ("alerts", ["alerts"]),
        ("folder/../alerts.db", ["alerts.db"]),
        ("./folder/alerts.db", ["folder", "alerts.db"]),
        (Path("folder") / "alerts", ["folder", "alerts"]),
        (".", []),
    ],
)
def test_paths_are_those_of_the_working_folder(
    place: str | Path, parts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wanted = absolute(place)
    assert wanted == str(Path.cwd().joinpath(*parts))
    monkeypatch.chdir("/")
    assert absolute(wanted) == wanted, "in another folder, too"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("s3://bucket/a@b/c", "s3://bucket/a@b/c"),
        ("s3://key:secret@bucket/a", "s3://bucket/a"),
        ("s3://key:secret@bucket/a@b?x=secret", "s3://b"),
        ("s3://key:sec/ret@bucket/a", "s3://bucket/a"),
        ("s3://secret@bucket", "s3://bucket"),
        ("gs://bucket/a?access_token=secret", "gs://bucket/a"),
        ("folder/a?b@c", "folder/a?b@c"),
    ],
)
def test_secrets_are_not_shown(url: str, shown: str) -> None:
    assert without_secrets(url) == shown
