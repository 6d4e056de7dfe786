"""Settings: where each value is from, and what is wrong with a bad one."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import whorl
from whorl import log_level
from whorl import settings as module
from whorl.options import size_of
from whorl.settings import DEFAULT_MAX_SIZE, Settings


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith("WHORL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(module, "_current", None)
    monkeypatch.setattr(module, "_has_set_level", [])
    monkeypatch.setattr(log_level, "_levels_before", {})
    yield
    logging.getLogger("whorl").setLevel(logging.NOTSET)


def test_without_anything_said_the_defaults_hold_and_say_so() -> None:
    settings = Settings.from_environment({})
    assert settings.cache.value == "on"
    assert settings.cache_max_size.value == DEFAULT_MAX_SIZE == 4 * 1024**3
    assert settings.log.value == "warning"
    assert settings.cache_dir.value.is_absolute()
    assert settings.cache_dir.value.name == "whorl"
    assert {settings.cache.origin, settings.cache_dir.origin} == {"the default"}


def test_the_environment_is_named_as_the_origin(tmp_path: Path) -> None:
    settings = Settings.from_environment(
        {
            "WHORL_CACHE": " ReadOnly ",
            "WHORL_CACHE_DIR": str(tmp_path / "new"),
            "WHORL_CACHE_MAX_SIZE": "5G",
            "WHORL_LOG": "debug",
        }
    )
    assert str(settings.cache) == "readonly (from WHORL_CACHE)"
    assert settings.cache_dir.value == tmp_path / "new"
    assert settings.cache_max_size == whorl.Setting(5 * 1024**3, "WHORL_CACHE_MAX_SIZE")
    assert settings.log.value == "debug"


def test_a_variable_set_to_nothing_counts_as_not_set() -> None:
    names = ("WHORL_CACHE", "WHORL_CACHE_DIR", "WHORL_CACHE_MAX_SIZE", "WHORL_LOG")
    assert Settings.from_environment(dict.fromkeys(names, " ")) == Settings.from_environment({})


def test_configure_wins_over_the_environment_and_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHORL_CACHE", "off")
    monkeypatch.setenv("WHORL_CACHE_MAX_SIZE", "10M")
    assert whorl.configure(cache="readonly").cache.value == "readonly"
    settings = whorl.configure(cache_max_size="1k")
    assert str(settings.cache) == "readonly (from whorl.configure)"
    assert settings.cache_max_size.value == 1024
    assert module.current() is settings


def test_configure_takes_paths_and_expands_the_home(tmp_path: Path) -> None:
    assert whorl.configure(cache_dir=tmp_path).cache_dir.value == tmp_path
    home = whorl.configure(cache_dir="~/somewhere").cache_dir.value
    assert home == Path.home() / "somewhere"
    assert whorl.configure(cache_dir="relative").cache_dir.value == Path.cwd() / "relative"


def test_an_option_that_does_not_exist_is_named() -> None:
    with pytest.raises(TypeError, match="cache_sise"):
        Settings.from_environment({}).changed(cache_sise=1)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("500M", 500 << 20),
        ("5G", 5 << 30),
        ("5g", 5 << 30),
        ("5GiB", 5 << 30),
        ("5 GB", 5 << 30),
        ("1.5k", 1536),
        ("2T", 2 << 40),
        (" 7b ", 7),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert size_of("size", text) == size


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WHORL_CACHE", "yes"),
        ("WHORL_CACHE_MAX_SIZE", "banana"),
        ("WHORL_CACHE_MAX_SIZE", "0"),
        ("WHORL_CACHE_MAX_SIZE", "-5G"),
        ("WHORL_CACHE_MAX_SIZE", "5 G B"),
        ("WHORL_CACHE_MAX_SIZE", "nan"),
        ("WHORL_CACHE_MAX_SIZE", "1e9"),
        ("WHORL_LOG", "loud"),
        ("WHORL_CACHE_DIR", "a\0b"),
    ],
)
def test_a_bad_value_is_an_error_that_names_the_variable(name: str, value: str) -> None:
    with pytest.raises(whorl.BadSetting) as caught:
        Settings.from_environment({name: value})
    assert caught.value.name == name
    assert name in str(caught.value)
    assert "should be" in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"cache": "yes"},
        {"cache": True},
        {"cache_max_size": 0},
        {"cache_max_size": -1},
        {"cache_max_size": 1.5},
        {"cache_max_size": True},
        {"cache_dir": 3},
        {"cache_dir": ""},
        {"cache_dir": __file__},
        {"log": 10},
    ],
)
def test_a_bad_argument_is_an_error_that_names_it_and_changes_nothing(
    options: dict[str, object],
) -> None:
    before = whorl.configure(cache="on")
    with pytest.raises(whorl.BadSetting) as caught:
        whorl.configure(**options)  # type: ignore[arg-type]  # what is tested
    assert caught.value.name in options
    assert module.current() is before


def test_the_log_level_is_that_of_the_logger() -> None:
    whorl.configure(log="off")
    assert not logging.getLogger("whorl.store").isEnabledFor(logging.CRITICAL)
    whorl.configure(log="error")
    assert not logging.getLogger("whorl.store").isEnabledFor(logging.WARNING)


def test_with_info_the_log_goes_to_standard_error() -> None:
    program = (
        "import logging, whorl; from whorl.store import default_cache; default_cache();"
        "logging.getLogger('whorl.store').info('seen'); logging.getLogger('x').info('not seen')"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "WHORL_LOG": "info", "WHORL_CACHE": "off"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stderr == "whorl: seen\n"


def test_with_why_only_the_reasons_for_compiles_are_said() -> None:
    program = (
        "import logging, whorl; from whorl.store import default_cache; default_cache();"
        "logging.getLogger('whorl.why').info('because');"
        "logging.getLogger('whorl.store').info('not seen')"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "WHORL_LOG": "why", "WHORL_CACHE": "off"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stderr == "whorl: because\n"


def test_the_settings_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Settings.from_environment({}).cache = None  # type: ignore[misc,assignment]  # what is tested


def test_settings_of_an_earlier_moment_bring_back_the_levels_of_that_moment() -> None:
    logger = logging.getLogger("whorl")
    logger.setLevel(logging.ERROR)
    before = module.current()
    whorl.configure(log="off")
    assert not logger.isEnabledFor(logging.CRITICAL)
    module.restore(before)
    assert logger.level == logging.ERROR


def test_the_default_directory_is_the_one_that_platformdirs_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from platformdirs import user_cache_dir

    for home, cache in ((None, None), (tmp_path, None), (tmp_path, ""), (tmp_path, tmp_path / "x")):
        for name, value in (("HOME", home), ("XDG_CACHE_HOME", cache)):
            if value is not None:
                monkeypatch.setenv(name, str(value))
        found = Settings.from_environment({}).cache_place.value
        assert found == user_cache_dir("whorl", appauthor=False)


def test_a_relative_file_is_refused_where_there_is_no_directory_to_begin_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(whorl.BadSetting, match=r"WHORL_SUMMARY .* an absolute path: No such file"):
        Settings.from_environment({"WHORL_SUMMARY": "counted"})
    monkeypatch.chdir(tmp_path)


def test_what_is_no_setting_of_whorls_is_not_looked_at() -> None:
    odd = {"WHORL_CACHE": "off", "SOMETHING": "\ud800"}
    assert Settings.from_environment(odd).cache.value == "off"


SHOULD_BE = [
    ({"cache": "sometimes"}, {"cache": "readonly"}, "one of on, off, readonly"),
    ({"cache_max_size": "5 bananas"}, {"cache_max_size": "500M"}, "such as 500M or 5G"),
    ({"cache_max_size": 0}, {"cache_max_size": "5G"}, "more than nothing"),
    ({"log": "loud"}, {"log": "why"}, "one of off, error, warning, why, info, debug"),
    ({"threads": 0}, {"threads": 1}, "a number of threads, 1 to"),
    ({"debug": "perhaps"}, {"debug": "1"}, "1 or 0"),
    ({"require_hit": "perhaps"}, {"require_hit": "0"}, "1 or 0"),
    ({"signing_key": "short"}, {"signing_key": "x" * 64}, "characters or more"),
    ({"cache_salt": 1}, {"cache_salt": "1"}, "a text"),
    ({"dump": 1}, {"dump": "all"}, "a name"),
]


@pytest.mark.parametrize(("wrong", "right", "says"), SHOULD_BE)
def test_what_an_option_should_be_is_what_it_can_be(
    wrong: dict[str, Any], right: dict[str, Any], says: str
) -> None:
    before = module.current()
    try:
        with pytest.raises(whorl.BadSetting) as caught:
            whorl.configure(**wrong)
        assert says in str(caught.value)
        whorl.configure(**right)
    finally:
        module.restore(before)


@pytest.mark.parametrize("size", ["9" * 400, "9" * 300 + "P"])
def test_a_size_beyond_all_measure_is_an_error_that_names_the_variable(size: str) -> None:
    with pytest.raises(whorl.BadSetting, match="WHORL_CACHE_MAX_SIZE"):
        whorl.Settings.from_environment({"WHORL_CACHE_MAX_SIZE": size})


def test_a_relative_directory_where_there_is_no_working_directory_names_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(whorl.BadSetting, match="WHORL_CACHE_DIR"):
        whorl.Settings.from_environment({"WHORL_CACHE_DIR": "cache"})
