"""The settings of whorl, from environment variables and `whorl.configure`, each with its origin.

    WHORL_CACHE            on | off | readonly
    WHORL_CACHE_DIR        a directory
    WHORL_CACHE_MAX_SIZE   bytes, or 500M, 5G, 5GiB, 1.5T ...
    WHORL_CACHE_SALT       any text: another text changes all keys, so that nothing is found
    WHORL_SIGNING_KEY      the secret key of a team, which signs pickled results
    WHORL_PROGRESS         1 | 0: show which step is running; by default on a terminal
    WHORL_LOG              off | error | warning | why | info | debug
    WHORL_NUM_THREADS      the number of threads for parallel loops of kernels
    WHORL_TARGET           the processor to compile for: host, or a level such as x86-64-v3
    WHORL_DEBUG            1: kernels check indices, divisors and powers
    WHORL_INTERPRET        1: kernels run as plain Python
    WHORL_DUMP             print the program after a pass of the kernel compiler: lower, prune ...
    WHORL_REQUIRE_HIT      1: nothing is compiled; a miss is an error
    WHORL_SUMMARY          a file to which processes append their statistics
    WHORL_RECORD           a file to which processes append the calls that they compile or find
    WHORL_REMOTE           URLs of shared caches, separated by spaces, nearest first
    WHORL_KEYS_DIR         the directory of the keys that seal entries of shared caches

`whorl.configure` overrides the environment, which overrides the defaults. An empty variable counts
as not set. No other module reads whorl's own options from `os.environ`.
"""

from __future__ import annotations

import functools
import os
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, cast

from whorl.fast_dataclasses import NamedTuple, make
from whorl.lazy import importing, lazy_module, load
from whorl.locks import ForkSafeLock

if TYPE_CHECKING:
    from pathlib import Path

    from whorl import log_level
    from whorl import options as values

    from .errors import BadSetting
else:  # what a process without settings of its own has no need of
    log_level = lazy_module("whorl.log_level", globals())
    values = lazy_module("whorl.options", globals())


DEFAULT_MAX_SIZE: Final = 4 << 30
_DEFAULT: Final = "the default"

OPTIONS: Final[dict[str, tuple[str, object]]] = {
    "cache": ("WHORL_CACHE", "on"),
    "cache_dir": ("WHORL_CACHE_DIR", None),
    "cache_max_size": ("WHORL_CACHE_MAX_SIZE", DEFAULT_MAX_SIZE),
    "log": ("WHORL_LOG", "warning"),
    "threads": ("WHORL_NUM_THREADS", None),
    "target": ("WHORL_TARGET", "host"),
    "debug": ("WHORL_DEBUG", False),
    "interpret": ("WHORL_INTERPRET", False),
    "dump": ("WHORL_DUMP", ""),
    "cache_salt": ("WHORL_CACHE_SALT", ""),
    "signing_key": ("WHORL_SIGNING_KEY", None),
    "progress": ("WHORL_PROGRESS", "auto"),
    "require_hit": ("WHORL_REQUIRE_HIT", False),
    "summary": ("WHORL_SUMMARY", ""),
    "remote": ("WHORL_REMOTE", ()),
    "keys_dir": ("WHORL_KEYS_DIR", None),
    "record": ("WHORL_RECORD", ""),
}
"""The variable and the default of each option, in the order of the fields of `Settings`; the
defaults of `cache_dir`, `threads` and `keys_dir` are found out when they are needed."""

T = TypeVar("T")


class Setting(NamedTuple, Generic[T]):
    """The value of an option and where it is from.

    >>> str(Setting("readonly", "WHORL_CACHE"))
    'readonly (from WHORL_CACHE)'
    """

    value: T
    origin: str

    def __str__(self) -> str:
        return f"{self.value} (from {self.origin})"


class Settings(NamedTuple):
    """Every option of whorl's own.

    >>> Settings.from_environment({"WHORL_CACHE_MAX_SIZE": "5G"}).cache_max_size
    Setting(value=5368709120, origin='WHORL_CACHE_MAX_SIZE')
    """

    cache: Setting[Literal["on", "off", "readonly"]]
    cache_place: Setting[str]  # an absolute path: a text is there sooner than a Path
    cache_max_size: Setting[int]
    log: Setting[Literal["off", "error", "warning", "why", "info", "debug"]]
    thread_limit: Setting[int | None]
    target: Setting[str]
    debug: Setting[bool]
    interpret: Setting[bool]
    dump: Setting[str]
    cache_salt: Setting[str]
    signing_key: Setting[values.Secret | None]
    progress: Setting[Literal["on", "off", "auto"]]
    require_hit: Setting[bool]
    summary: Setting[str]
    remote: Setting[tuple[values.Url, ...]]
    keys_place: Setting[str | None]
    record: Setting[str]

    @property
    def cache_dir(self) -> Setting[Path]:
        """The directory of the cache."""
        return Setting(_path(self.cache_place.value), self.cache_place.origin)

    @property
    def threads(self) -> Setting[int]:
        """How many threads a parallel loop may use: by default as many as can run at once."""
        limit, origin = self.thread_limit
        return Setting(_processors() if limit is None else limit, origin)

    @property
    def keys_dir(self) -> Setting[Path]:
        """The directory with the keys of shared caches."""
        place, origin = self.keys_place
        return Setting(_path(_config_home() if place is None else place), origin)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """The options that the environment gives, defaults where it is silent."""
        table = raw_environment() if environment is None else None
        texts: Mapping[str, str] = os.environ if environment is None else environment
        settings = [*_DEFAULTS]
        for raw in _VARIABLES:
            if table is not None and raw not in table:
                continue
            place, option, variable = _VARIABLES[raw]
            text = texts.get(variable, "") if table is None else decoded(table[raw])
            if place == _CACHE_PLACE and text[:1] == "/":  # as most programs have it
                settings[place] = make(Setting, (absolute(text), variable))
            elif text and not text.isspace():
                settings[place] = Setting(_parsed(option, variable, text), variable)
        if settings[_CACHE_PLACE] is None:
            settings[_CACHE_PLACE] = Setting(_default_directory(), _DEFAULT)
        return make(cls, tuple(settings))

    def changed(self, **options: object) -> Settings:
        """The same with some options as given."""
        unknown = sorted(options.keys() - OPTIONS.keys())
        if unknown:
            raise TypeError(
                f"whorl has no option {unknown[0]!r}; it has {', '.join(sorted(OPTIONS))}"
            )
        given = {
            _FIELDS.get(name, name): Setting(_parsed(name, name, value), "whorl.configure")
            for name, value in options.items()
            if value is not None
        }
        return self._replace(**cast("dict[str, Any]", given))


_FIELDS: Final = {
    "cache_dir": "cache_place", "threads": "thread_limit", "keys_dir": "keys_place",
}  # fmt: skip
"""Options whose fields have other names: what is asked for under theirs is found out."""
_VARIABLES: Final = {
    variable.encode("ascii"): (place, option, variable)
    for place, (option, (variable, _)) in enumerate(OPTIONS.items())
}
_CACHE_PLACE: Final = 1  # of `Settings`, and so of `OPTIONS`
_DEFAULTS: Final[list[Any]] = [
    None if place == _CACHE_PLACE else Setting(default, _DEFAULT)
    for place, (_, default) in enumerate(OPTIONS.values())
]


def raw_environment() -> Mapping[bytes, bytes] | None:
    """The table behind `os.environ`, which takes 2 us to ask for a variable; None if it has none.

    A lookup in a new process asks for a dozen of them. Windows has no bytes there, and a program
    may have put anything in the place of `os.environ`.
    """
    environment: Any = os.environ
    if os.supports_bytes_environ and type(environment) is _USUAL_ENVIRONMENT:
        table: dict[bytes, bytes] = environment._data
        return table
    return None


_USUAL_ENVIRONMENT: Final[Any] = type(os.environb) if os.supports_bytes_environ else None
_ENCODING: Final = (sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())


def encoded(text: str) -> bytes:
    """A name or value as it is in that table.

    >>> decoded(encoded("PATH")) == "PATH", encoded("PATH") == os.fsencode("PATH")
    (True, True)
    """
    return text.encode() if text.isascii() else text.encode(*_ENCODING)  # with less to look up


def decoded(raw: bytes) -> str:
    """What is in that table as a text."""
    return raw.decode() if raw.isascii() else raw.decode(*_ENCODING)


def _bad(name: str, value: object, wanted: str) -> BadSetting:
    with importing:
        from .errors import BadSetting  # most programs have nothing to say with it

    return BadSetting(name, value, wanted)


def _parsed(option: str, name: str, value: object) -> object:
    if option in ("cache_dir", "keys_dir"):
        return _directory(name, value)
    return values.parsed(option, name, value)


@functools.cache
def _processors() -> int:
    """How many threads of this process can run at once; asked once."""
    with importing:
        from .processors import processors

    return processors()


IN_THE_WAY: Final = "a directory; there is a file of that name"


def is_in_the_way(path: str | os.PathLike[str]) -> bool:
    """Whether there is something at a path that is no directory.

    >>> is_in_the_way(__file__), is_in_the_way("nowhere")
    (True, False)
    """
    try:
        return not stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116  # a text is sooner
    except (OSError, ValueError):
        return False


def absolute(path: str) -> str:
    """A path from the root on, links and all. As `os.path.abspath` says it, sooner.

    >>> absolute("/a/../b//c/"), absolute("x") == os.path.abspath("x")
    ('/b/c', True)
    """
    if os.sep != "/" or path[:1] != "/":
        return os.path.abspath(path)  # noqa: PTH100  # a text is sooner
    is_plain = "//" not in path and "/." not in path and path[-1] != "/"
    return path if is_plain else os.path.normpath(path)


def _directory(name: str, value: object) -> str:
    if not isinstance(value, str) and not isinstance(value, os.PathLike):
        raise _bad(name, value, "a directory")
    text = os.fspath(value)
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise _bad(name, value, "a directory")
    if text.startswith("~"):
        try:
            text = str(_path(text).expanduser())
        except RuntimeError:
            raise _bad(name, value, "a directory; there is no home for ~ here") from None
    try:
        path = absolute(text)
    except OSError as error:
        raise _bad(name, value, f"an absolute path: {error.strerror}") from error
    # What the environment names may be anything by now: the store says so, and goes on without.
    if name == "cache_dir" and is_in_the_way(path):
        raise _bad(name, value, IN_THE_WAY)
    return path


def _default_directory() -> str:
    """The user's cache directory; where there is no home, one of this user's own for now."""
    path = _cache_home()
    if os.path.isabs(path):  # noqa: PTH117  # a text is sooner
        return path
    with importing:
        import tempfile

    user = os.getuid() if sys.platform != "win32" else "user"
    try:
        return str(_path(tempfile.gettempdir()) / f"whorl-{user}")
    except OSError:  # not even that: a place where nothing can be kept, which the store will say
        return str(_path(os.devnull) / "whorl")


def _cache_home() -> str:
    """Where the system wants caches. On Linux that is known without the 4 ms of platformdirs."""
    environ = os.environ
    if sys.platform == "linux" and "ANDROID_ROOT" not in environ and environ.get("HOME"):
        home = environ.get("XDG_CACHE_HOME", "")
        if not home.strip():
            home = f"{environ['HOME'].rstrip('/')}/.cache"
        return os.path.normpath(f"{home}/whorl")
    with importing:
        from platformdirs import user_cache_dir

    try:
        return user_cache_dir("whorl", appauthor=False)
    except RuntimeError:  # neither HOME nor an entry for this user
        return ""


def _config_home() -> str:
    """Where the system wants the configuration of a user, for keys."""
    with importing:
        from platformdirs import user_config_dir

    return os.path.join(user_config_dir("whorl", appauthor=False), "keys")  # noqa: PTH118  # a text


def _path(text: str) -> Path:
    with importing:
        from pathlib import Path  # 3 ms that most processes can do without

    return Path(text)


def variables() -> tuple[str, ...]:
    """The variables of the environment that are settings.

    >>> "WHORL_CACHE_DIR" in variables()
    True
    """
    return tuple(variable for variable, _ in OPTIONS.values())


# -- the settings of this process -------------------------------------------------------

_lock: Final = ForkSafeLock()  # held for moments
_current: Settings | None = None
_prepared: tuple[list[bytes | None], Settings] | None = None  # and what they were made of
_applied: list[Settings] = []  # the last that were, also when they are to be read again
_listeners: list[Callable[[Settings, Settings], None]] = []
_has_set_level: list[bool] = []  # whether whorl's loggers have a level from the settings


def current() -> Settings:
    """The settings of this process, read from the environment when first asked for."""
    global _current  # noqa: PLW0603  # one process, one set of options
    if _current is None:
        ready = _prepared
        if ready is not None and ready[0] == _variables_now():
            _current = settings = ready[1]  # the same for all threads that come here at once
        else:
            settings = Settings.from_environment()
            with _lock:  # one of them is the first
                if _current is not None:
                    return _current
                _current = settings
        if _applied or settings.log.origin != _DEFAULT:  # not the first, or not as usual
            _apply(settings)
        else:
            _applied.append(settings)
    return _current


def prepared() -> Settings | None:
    """The settings by the environment as it is now, read ahead; `current` uses them if it is the
    same then.

    None if a variable makes no sense, or if the settings depend on more than variables: `current`
    finds that out again, and reports it. Nothing is applied.
    """
    global _prepared  # noqa: PLW0603  # as above
    values = _variables_now()
    if values is None or _current is not None or not _are_from_the_root(values):
        return None
    try:
        settings = Settings.from_environment()
    except Exception:  # a variable that makes no sense: `current` raises it
        return None
    _prepared = values, settings
    return settings


def _are_from_the_root(values: list[bytes | None]) -> bool:
    """Whether no directory or file of the settings depends on the working directory."""
    by_name = dict(zip(_READ_AHEAD, values, strict=True))
    if by_name[b"WHORL_SUMMARY"] or by_name[b"WHORL_KEYS_DIR"] or by_name[b"WHORL_RECORD"]:
        return False
    place = by_name[b"WHORL_CACHE_DIR"] or by_name[b"XDG_CACHE_HOME"] or by_name[b"HOME"] or b""
    return place[:1] == b"/"


def _variables_now() -> list[bytes | None] | None:
    """The variables that settings are made of; None where that is not known so quickly."""
    table = raw_environment()
    return None if table is None else [*map(table.get, _READ_AHEAD)]


_READ_AHEAD: Final = (*_VARIABLES, b"HOME", b"XDG_CACHE_HOME", b"ANDROID_ROOT")


def configure(
    *,
    cache: Literal["on", "off", "readonly"] | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    cache_max_size: int | str | None = None,
    log: Literal["off", "error", "warning", "why", "info", "debug"] | None = None,
    threads: int | None = None,
    target: str | None = None,
    debug: bool | None = None,
    interpret: bool | None = None,
    dump: str | None = None,
    cache_salt: str | None = None,
    signing_key: str | None = None,
    progress: bool | Literal["auto"] | None = None,
    require_hit: bool | None = None,
    summary: str | os.PathLike[str] | None = None,
    remote: str | Iterable[str] | None = None,
    keys_dir: str | os.PathLike[str] | None = None,
    record: str | os.PathLike[str] | None = None,
) -> Settings:
    """Set options of this process; the others stay as they are. Returns them all.

    >>> import whorl
    >>> str(whorl.configure(log="warning").log)
    'warning (from whorl.configure)'
    """
    global _current  # noqa: PLW0603  # as above
    changed = current().changed(
        cache=cache, cache_dir=cache_dir, cache_max_size=cache_max_size, log=log,
        threads=threads, target=target, debug=debug, interpret=interpret, dump=dump,
        cache_salt=cache_salt, signing_key=signing_key, progress=progress,
        require_hit=require_hit, summary=summary, remote=remote, keys_dir=keys_dir,
        record=record,
    )  # fmt: skip
    if remote:
        load("whorl.remote.address").check_urls(changed.remote.value, "remote")
    _current = changed
    _apply(changed)
    return changed


def restore(settings: Settings) -> None:
    """Have the settings of an earlier moment again."""
    global _current  # noqa: PLW0603  # as above
    _current = settings
    _apply(settings)


def on_change(listener: Callable[[Settings, Settings], None]) -> None:
    """Call this with the settings before and after, when there are others than there were."""
    _listeners.append(listener)


def _apply(settings: Settings) -> None:
    if settings.log.origin != _DEFAULT:
        _has_set_level[:] = [True]
        log_level.set_level(settings.log.value)
    elif _has_set_level:  # by default the program's own levels are its own
        _has_set_level.clear()
        log_level.restore()
    before, _applied[:] = _applied[:], [settings]
    for earlier in before:
        for listener in _listeners:
            listener(earlier, settings)
