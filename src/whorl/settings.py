"""Environment variables and arguments in, one frozen set of options out, each with its origin.

    WHORL_CACHE            on | off | readonly
    WHORL_CACHE_DIR        a directory
    WHORL_CACHE_MAX_SIZE   bytes, or 500M, 5G, 5GiB, 1.5T ...
    WHORL_CACHE_SALT       any text: another one is another world, in which nothing is found
    WHORL_SIGNING_KEY      a secret of a team, with which pickled results are signed
    WHORL_PROGRESS         1 | 0: show which step is running; by default on a terminal
    WHORL_LOG              off | error | warning | why | info | debug
    WHORL_NUM_THREADS      how many threads a parallel loop of a kernel may use
    WHORL_TARGET           host, or a level such as x86-64-v3, that kernels are compiled for
    WHORL_DEBUG            1: kernels check indices and divisors
    WHORL_INTERPRET        1: kernels run as plain Python
    WHORL_DUMP             print the program after a pass of the kernel compiler: lower, prune ...
    WHORL_REQUIRE_HIT      1: nothing is compiled; what is not in the cache is an error
    WHORL_SUMMARY          a file that processes append to what they found and made

What `whorl.configure` says wins over the environment, which wins over the defaults. A
variable that is set to nothing counts as not set. This is the one reader of `os.environ`
for whorl's own options.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, cast

from whorl.late import NamedTuple, dataclass, replace

if TYPE_CHECKING:
    from pathlib import Path

    from .errors import BadSetting

__all__ = [
    "Setting",
    "Settings",
    "configure",
    "current",
    "on_change",
    "restore",
    "size_of",
    "variables",
]

CacheMode = Literal["on", "off", "readonly"]
LogLevel = Literal["off", "error", "warning", "why", "info", "debug"]
ProgressMode = Literal["on", "off", "auto"]

DEFAULT_MAX_SIZE: Final = 4 << 30
MOST_THREADS: Final = 4096
SHORTEST_SECRET: Final = 16
TARGETS: Final = ("host", "generic", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")
_LARGEST: Final = 1 << 63
_MODES: Final = ("on", "off", "readonly")
_LEVELS: Final = ("off", "error", "warning", "why", "info", "debug")
_SIZE: Final = r"(\d+(?:\.\d+)?)\s*([kmgtp]?)(i?b)?"

T = TypeVar("T")


class Secret:
    """A text that is not shown.

    >>> Secret("correct horse battery")
    <secret>
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> bytes:
        """The secret itself."""
        return self._text.encode("utf-8", "surrogateescape")

    def __repr__(self) -> str:
        return "<secret>"


class Setting(NamedTuple, Generic[T]):
    """The value of an option and where it is from.

    >>> str(Setting("readonly", "WHORL_CACHE"))
    'readonly (from WHORL_CACHE)'
    """

    value: T
    origin: str

    def __str__(self) -> str:
        return f"{self.value} (from {self.origin})"


@dataclass(frozen=True, slots=True)
class Settings:
    """Every option of whorl's own.

    >>> Settings.from_environment({"WHORL_CACHE_MAX_SIZE": "5G"}).cache_max_size
    Setting(value=5368709120, origin='WHORL_CACHE_MAX_SIZE')
    """

    cache: Setting[CacheMode]
    cache_place: Setting[str]  # an absolute path: a text is there sooner than a Path
    cache_max_size: Setting[int]
    log: Setting[LogLevel]
    threads: Setting[int]
    target: Setting[str]
    debug: Setting[bool]
    interpret: Setting[bool]
    dump: Setting[str]
    cache_salt: Setting[str]
    signing_key: Setting[Secret | None]
    progress: Setting[ProgressMode]
    require_hit: Setting[bool]
    summary: Setting[str]

    @property
    def cache_dir(self) -> Setting[Path]:
        """The directory of the cache."""
        return Setting(_path(self.cache_place.value), self.cache_place.origin)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """The options that the environment gives, defaults where it is silent."""
        get = (os.environ if environment is None else environment).get
        said = [(row, get(row.variable, "")) for row in _OPTIONS.values()]
        settings: list[Any] = [
            Setting(row.parse(row.variable, text), row.variable)
            if text and not text.isspace()
            else Setting(row.default(), "the default")
            for row, text in said
        ]
        return cls(*settings)

    def changed(self, **options: object) -> Settings:
        """The same with some options as given."""
        unknown = sorted(options.keys() - _OPTIONS.keys())
        if unknown:
            raise TypeError(
                f"whorl has no option {unknown[0]!r}; it has {', '.join(sorted(_OPTIONS))}"
            )
        given = {
            _OPTIONS[name].field: Setting(_OPTIONS[name].parse(name, value), "whorl.configure")
            for name, value in options.items()
            if value is not None
        }
        return replace(self, **cast("dict[str, Any]", given))


# -- one row per option -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Option:
    field: str
    variable: str
    parse: Callable[[str, Any], object]
    default: Callable[[], object]


def _bad(name: str, value: object, wanted: str) -> BadSetting:
    from .errors import BadSetting  # most programs have nothing to say with it

    return BadSetting(name, value, wanted)


def _one_of(choices: tuple[str, ...]) -> Callable[[str, object], str]:
    def parse(name: str, value: object) -> str:
        word = value.strip().lower() if isinstance(value, str) else value
        if word not in choices:
            raise _bad(name, value, f"one of {', '.join(choices)}")
        return word

    return parse


def size_of(name: str, value: object) -> int:
    """A number of bytes from a number or a text such as 5G; `name` is for the error.

    >>> size_of("size", "1.5 MiB"), size_of("size", 10)
    (1572864, 10)
    """
    if type(value) is int and 0 < value < _LARGEST:
        return value
    match = None
    if isinstance(value, str):
        match = re.fullmatch(_SIZE, value.strip(), re.IGNORECASE | re.ASCII)
    size = 0
    if match is not None:
        from decimal import Decimal

        size = int(Decimal(match[1]) * 1024 ** " kmgtp".index(match[2].lower() or " "))
    if not 0 < size < _LARGEST:
        raise _bad(name, value, "a number of bytes such as 500M or 5G, more than nothing")
    return size


def _switch(name: str, value: object) -> bool:
    word = value.strip().lower() if isinstance(value, str) else value
    if word in ("1", "true", "on", "yes", True):
        return True
    if word in ("0", "false", "off", "no", False):
        return False
    raise _bad(name, value, "1 or 0")


def _threads(name: str, value: object) -> int:
    try:
        count = int(value) if isinstance(value, str) else value
    except ValueError:
        count = None
    if type(count) is not int or not 0 < count <= MOST_THREADS:
        raise _bad(name, value, f"a number of threads, 1 to {MOST_THREADS}")
    return count


def _processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _bad(name, value, "a name")
    return value.strip().lower()


def _salt(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _bad(name, value, "a text")
    return value


def _secret(name: str, value: object) -> Secret:
    if isinstance(value, Secret):
        return value
    if not isinstance(value, str) or len(value) < SHORTEST_SECRET:
        raise _bad(name, "<secret>", f"a text of {SHORTEST_SECRET} characters or more")
    return Secret(value)


def _progress(name: str, value: object) -> str:
    if value == "auto":
        return "auto"
    return "on" if _switch(name, value) else "off"


def _file(name: str, value: object) -> str:
    if not isinstance(value, str | os.PathLike):
        raise _bad(name, value, "a file")
    text = os.fspath(value)
    if not isinstance(text, str) or "\0" in text:
        raise _bad(name, value, "a file")
    return os.path.abspath(text) if text else ""  # noqa: PTH100  # resolve() would follow links


def _directory(name: str, value: object) -> str:
    if not isinstance(value, str | os.PathLike):
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
        path = os.path.abspath(text)  # noqa: PTH100  # resolve() would follow links
    except OSError as error:
        raise _bad(name, value, f"an absolute path: {error.strerror}") from error
    try:
        is_file = not stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116  # a text is sooner
    except (OSError, ValueError):
        is_file = False
    if is_file:
        raise _bad(name, value, "a directory; there is a file of that name")
    return path


def _default_directory() -> str:
    """The user's cache directory; where there is no home, one of this user's own for now."""
    path = _cache_home()
    if os.path.isabs(path):  # noqa: PTH117  # a text is sooner
        return path
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
    from platformdirs import user_cache_dir

    try:
        return user_cache_dir("whorl", appauthor=False)
    except RuntimeError:  # neither HOME nor an entry for this user
        return ""


def _path(text: str) -> Path:
    from pathlib import Path  # 3 ms that most processes can do without

    return Path(text)


# In the order of the fields of `Settings`.
_OPTIONS: Final[dict[str, _Option]] = {
    "cache": _Option("cache", "WHORL_CACHE", _one_of(_MODES), lambda: "on"),
    "cache_dir": _Option("cache_place", "WHORL_CACHE_DIR", _directory, _default_directory),
    "cache_max_size": _Option(
        "cache_max_size", "WHORL_CACHE_MAX_SIZE", size_of, lambda: DEFAULT_MAX_SIZE
    ),
    "log": _Option("log", "WHORL_LOG", _one_of(_LEVELS), lambda: "warning"),
    "threads": _Option("threads", "WHORL_NUM_THREADS", _threads, _processors),
    "target": _Option("target", "WHORL_TARGET", _one_of(TARGETS), lambda: "host"),
    "debug": _Option("debug", "WHORL_DEBUG", _switch, lambda: False),
    "interpret": _Option("interpret", "WHORL_INTERPRET", _switch, lambda: False),
    "dump": _Option("dump", "WHORL_DUMP", _text, lambda: ""),
    "cache_salt": _Option("cache_salt", "WHORL_CACHE_SALT", _salt, lambda: ""),
    "signing_key": _Option("signing_key", "WHORL_SIGNING_KEY", _secret, lambda: None),
    "progress": _Option("progress", "WHORL_PROGRESS", _progress, lambda: "auto"),
    "require_hit": _Option("require_hit", "WHORL_REQUIRE_HIT", _switch, lambda: False),
    "summary": _Option("summary", "WHORL_SUMMARY", _file, lambda: ""),
}


def variables() -> tuple[str, ...]:
    """The variables of the environment that are settings.

    >>> "WHORL_CACHE_DIR" in variables()
    True
    """
    return tuple(option.variable for option in _OPTIONS.values())


# -- the settings of this process -------------------------------------------------------

_current: Settings | None = None
_listeners: list[Callable[[Settings], None]] = []


def current() -> Settings:
    """The settings of this process, read from the environment when first asked for."""
    global _current  # noqa: PLW0603  # one process, one set of options
    if _current is None:
        _current = Settings.from_environment()
        _apply(_current)
    return _current


def configure(
    *,
    cache: CacheMode | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    cache_max_size: int | str | None = None,
    log: LogLevel | None = None,
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
) -> Settings:
    """Set options of this process; the others stay as they are. Returns them all.

    >>> import whorl
    >>> str(whorl.configure(log="warning").log)
    'warning (from whorl.configure)'
    """
    global _current  # noqa: PLW0603  # as above
    _current = current().changed(
        cache=cache, cache_dir=cache_dir, cache_max_size=cache_max_size, log=log,
        threads=threads, target=target, debug=debug, interpret=interpret, dump=dump,
        cache_salt=cache_salt, signing_key=signing_key, progress=progress,
        require_hit=require_hit, summary=summary,
    )  # fmt: skip
    _apply(_current)
    return _current


def restore(settings: Settings) -> None:
    """Have the settings of an earlier moment again."""
    global _current  # noqa: PLW0603  # as above
    _current = settings
    _apply(settings)


def on_change(listener: Callable[[Settings], None]) -> None:
    """Call this when `configure` was called."""
    _listeners.append(listener)


def _apply(settings: Settings) -> None:
    _apply_log(settings)
    for listener in _listeners:
        listener(settings)


_levels_before: Final[dict[str, int]] = {}  # of the loggers that were told their level here


def _restore_log() -> None:
    if _levels_before:
        import logging

        for name, level in _levels_before.items():
            logging.getLogger(name).setLevel(level)
        _levels_before.clear()


def _apply_log(settings: Settings) -> None:
    if settings.log.origin == "the default":  # the program's own levels are its own
        _restore_log()
        return
    import logging

    level = settings.log.value
    logger = logging.getLogger("whorl")
    for name in ("whorl", "whorl.why"):
        _levels_before.setdefault(name, logging.getLogger(name).level)
    levels = {"off": logging.CRITICAL + 1, "why": logging.WARNING}
    logger.setLevel(levels.get(level) or level.upper())
    # Why something was compiled is said by a logger of its own.
    logging.getLogger("whorl.why").setLevel(logging.INFO if level == "why" else logging.NOTSET)
    if (
        level in ("why", "info", "debug")
        and not logging.getLogger().handlers
        and not logger.handlers
    ):
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("whorl: %(message)s"))
        handler.addFilter(lambda record: not logging.getLogger().handlers)  # they say it by now
        logger.addHandler(handler)
