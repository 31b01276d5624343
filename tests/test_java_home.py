from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts import java_home


def write_script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def fake_java(home: Path, version: str, *, modules: bool = True) -> Path:
    """A home whose `bin/java` prints settings as the real one does."""
    refusal = f'[ "$1" != {java_home.MODULE_OPTION} ] || {{ echo "Module not found"; exit 1; }}'
    settings = f"Property settings:\n    java.home = {home}\n    java.version = {version}"
    write_script(home / "bin" / "java", f"{'' if modules else refusal}\ncat >&2 <<'END'\n{settings}\nEND")
    return home


@pytest.mark.parametrize(
    ("version", "expected"),
    [("1.8.0_392", 8), ("11.0.2", 11), ("17.0.15", 17), ("21", 21), ("25.0.2", 25), ("26-ea", 26)],
)
def test_major_is_the_number_people_use(version: str, expected: int) -> None:
    assert java_home.major(version) == expected


def test_major_refuses_what_is_no_version() -> None:
    with pytest.raises(ValueError, match="not a Java version: 'unknown'"):
        java_home.major("unknown")


def test_java_home_goes_before_path(tmp_path: Path) -> None:
    named = fake_java(tmp_path / "named", "17.0.15")
    on_path = fake_java(tmp_path / "on path", "21.0.8")
    environment = {"JAVA_HOME": str(named), "PATH": f"{on_path}/bin:/usr/bin:/bin"}
    assert java_home.installed_home(environment) == named


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2"])
def test_an_old_java_home_gives_way_to_path(tmp_path: Path, version: str) -> None:
    named = fake_java(tmp_path / "named", version)
    on_path = fake_java(tmp_path / "on path", "21.0.8")
    environment = {"JAVA_HOME": str(named), "PATH": f"{on_path}/bin:/usr/bin:/bin"}
    assert java_home.installed_home(environment) == on_path


def test_a_java_home_without_java_gives_way_to_path(tmp_path: Path) -> None:
    on_path = fake_java(tmp_path / "on path", "17")
    environment = {"JAVA_HOME": str(tmp_path / "gone"), "PATH": f"{on_path}/bin:/usr/bin:/bin"}
    assert java_home.installed_home(environment) == on_path


def test_a_wrapper_on_path_leads_to_the_home_it_names(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "jdk", "17.0.15")
    write_script(tmp_path / "shims" / "java", f'exec "{home}/bin/java" "$@"')
    assert java_home.installed_home({"PATH": f"{tmp_path}/shims:/usr/bin:/bin"}) == home


def test_a_java_that_exits_127_is_no_java(tmp_path: Path) -> None:
    java = write_script(tmp_path / "java", 'echo "java: not found" >&2; exit 127')
    with pytest.raises(java_home.NoJavaError, match=f"PATH: {java} exits with 127: java: not found"):
        java_home.installed_home({"PATH": str(tmp_path)})


def test_a_java_without_the_module_cannot_run_spark(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "trimmed", "21.0.8", modules=False)
    with pytest.raises(java_home.NoJavaError, match="Module not found"):
        java_home.installed_home({"JAVA_HOME": str(home)})


def test_no_java_at_all_is_said(tmp_path: Path) -> None:
    with pytest.raises(java_home.NoJavaError, match="neither JAVA_HOME nor a java on PATH"):
        java_home.installed_home({"PATH": str(tmp_path)})


def test_the_packaged_java_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packaged = tmp_path / "packaged"
    monkeypatch.setattr(java_home, "packaged_home", lambda *, install: packaged)
    on_path = fake_java(tmp_path / "jdk", "17.0.15")
    assert java_home.choose({"PATH": f"{on_path}/bin:/usr/bin:/bin"}, install=False) == on_path
    assert java_home.choose({"PATH": str(tmp_path)}, install=False) == packaged


def test_the_shim_drops_one_argument_and_passes_the_rest_verbatim(tmp_path: Path) -> None:
    runtime = tmp_path / "a runtime's home"
    write_script(runtime / "bin" / "java", """printf '%s\\0' "$@" """)
    shim = java_home.make_shim(runtime, tmp_path / "shim")
    kept = ["-Xmx1g", "", "with  spaces", "new\nline", "$HOME `x` *", "--add-modules=java.sql", "-n", "'\"\\"]
    arguments = [*kept[:3], java_home.MODULE_OPTION, *kept[3:]]
    done = subprocess.run([shim / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.split("\0")[:-1] == kept


def test_the_shim_shows_the_rest_of_the_home(tmp_path: Path) -> None:
    runtime = fake_java(tmp_path / "runtime", "21.0.8", modules=False)
    write_script(runtime / "bin" / "keytool", "")
    (runtime / "lib").mkdir()
    (runtime / "lib" / "modules").write_text("modules")
    shim = java_home.make_shim(runtime, tmp_path / "shim")
    assert sorted(path.name for path in (shim / "bin").iterdir()) == ["java", "keytool"]
    assert (shim / "lib" / "modules").read_text() == "modules"
    assert java_home.checked_home(shim / "bin" / "java", shim) == shim


def test_the_shim_follows_a_runtime_that_moved(tmp_path: Path) -> None:
    old, new = (fake_java(tmp_path / name, "21.0.8", modules=False) for name in ("old", "new"))
    java_home.make_shim(old, tmp_path / "shim")
    shim = java_home.make_shim(new, tmp_path / "shim")
    assert str(new) in (shim / "bin" / "java").read_text()
