"""A function in, what it takes from outside of the program out: nothing that a key could see.

A file, the environment, a clock, chance: a function that reads one of these gives another
result for the same arguments, and no fingerprint of its code knows. Such a function is refused
until its author has said what is read (`files=`, `by_content=`, `environment=`, `reads=`) or
that it does not count (`ignores=`). What is done to find them: every name that the function or
one that it calls takes from a module is compared with the tables below, whether the module is
a global, a captured variable, a default or has got a local name. That finds what is
written down plainly, not what is only put together while the program runs.

Clocks that only measure (`time.perf_counter`, `time.monotonic`) are let through, and so is
`print`.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, cast

from whorl.fingerprint.bytecode import (
    Call,
    GlobalRead,
    ImportRead,
    NameScope,
    TakenAttribute,
    attributes_taken,
    calls_in,
    captured_reads,
    nested_codes,
    reads_of,
    strings_in,
)
from whorl.fingerprint.lookup import (
    ABSENT,
    class_vars,
    derives,
    module_name,
    module_vars,
    mro,
    reified,
)
from whorl.fingerprint.watch import function_scope
from whorl.late import dataclass

__all__ = ["HASHES", "HAVE_PATHS", "SCOPES", "Kind", "Outside", "named_outside", "outside_reads"]

HAVE_PATHS: Final = frozenset(
    ("pathlib", "importlib", "importlib_resources", "py", "tempfile", "upath", "zipfile")
)
"""Packages whose classes and functions make paths, or objects with the methods of paths."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A part of the world outside, and how to let it be part of a key.

    In a remedy, 'USED' stands for what is used and 'NAME' for the variable that it names.
    """

    name: str
    remedy: str


FILES: Final = Kind(
    "the file system",
    "Declare fixed files with files=[...], parameters that are paths with by_content=[...]",
)
FOUND: Final = Kind(FILES.name, "Find it outside, and pass it as an argument")
ENVIRONMENT: Final = Kind(
    "the environment", "Declare the variables with environment={'NAME': None}"
)
HOME: Final = Kind(ENVIRONMENT.name, "Pass the path as an argument")
CLOCK: Final = Kind("the time of day", "Pass the time as an argument")
CHANCE: Final = Kind(
    "random numbers",
    "Pass a seed as an argument, and draw from a generator that is made of it "
    "(random.Random(seed), numpy.random.default_rng(seed))",
)
DRAWN: Final = Kind(CHANCE.name, "Draw it outside, and pass it as an argument")
PROGRAMS: Final = Kind(
    "another program",
    "Run it outside, and pass what it returns as an argument; or let what tells its version count "
    "in its place: reads=[version], ignores=['USED']",
)
NETWORK: Final = Kind("the network", "Fetch the data outside, and pass it as an argument")
MACHINE: Final = Kind("the machine", "Pass it as an argument")
PROCESS: Final = Kind("what the process was started with", "Pass it as an argument")

MODULES: Final = Kind(
    "code that is found by its name",
    "Import it at the top of the module, or let it count in its place: "
    "reads=[module], ignores=['USED']",
)
CLASSES: Final = Kind(MODULES.name, "Write the classes down in a tuple, and go through that")
SCOPES: Final = Kind(
    "names that are taken from a function or a frame",
    "Import the module at the top of the file, and take the name from it",
)
HASHES: Final = Kind(
    "the hash seed of the process",
    "Use a digest that is the same in every process (hashlib, zlib.crc32, whorl.fingerprint)",
)
LOCALE: Final = Kind("the locale", "Pass what counts of it as an argument")
ZONE: Final = Kind("the time zone", "Pass what counts of it as an argument")
SETTINGS: Final = Kind("settings of the process", "Pass it as an argument")
PLACES: Final = Kind("where code stands in its file", "Pass it as an argument")

_TABLE: Final[tuple[tuple[Kind, str, str], ...]] = (
    (FILES, "builtins", "open"),
    (FILES, "io", "open FileIO"),
    (
        FILES, "os",
        "open listdir scandir walk stat lstat readlink access fdopen",
    ),
    (FOUND, "os", "getcwd getcwdb"),
    (
        FILES, "os.path",
        "exists isfile isdir islink getmtime getctime getatime getsize lexists samefile ismount",
    ),
    (FOUND, "os.path", "realpath abspath relpath"),
    (FILES, "glob", "glob iglob"),
    (FOUND, "pathlib", "Path.cwd Path.home"),
    (FILES, "codecs", "open"),
    (FILES, "gzip", "open GzipFile"),
    (FILES, "bz2", "open BZ2File"),
    (FILES, "lzma", "open LZMAFile"),
    (FILES, "tarfile", "open TarFile"),
    (FILES, "zipfile", "ZipFile"),
    (FILES, "shelve", "open"),
    (FILES, "dbm", "open"),
    (FILES, "xml.etree.ElementTree", "parse iterparse"),
    (FILES, "xml.dom.minidom", "parse"),
    (FILES, "xml.dom.pulldom", "parse"),
    (FILES, "xml.sax", "parse"),
    (FILES, "configparser", "RawConfigParser.read ConfigParser.read"),
    (FILES, "pkgutil", "get_data"),
    (FILES, "inspect", "getsource getsourcelines getcomments findsource"),
    (FILES, "sqlite3", "connect"),
    (FILES, "linecache", "getline getlines"),
    (FILES, "fileinput", "input FileInput"),
    (FOUND, "shutil", "which disk_usage"),
    (FILES, "numpy", "load loadtxt genfromtxt fromfile memmap"),
    (FILES, "pandas", "read_csv read_table read_json read_parquet read_excel read_pickle read_hdf"),
    (ENVIRONMENT, "os", "environ environb getenv getenvb"),
    (HOME, "os.path", "expanduser expandvars"),
    (CLOCK, "time", "time time_ns localtime ctime clock_gettime clock_gettime_ns"),
    (CLOCK, "datetime", "datetime.now datetime.utcnow datetime.today date.today"),
    (
        CHANCE, "random",
        "random uniform triangular randint choice choices randrange sample shuffle normalvariate "
        "lognormvariate expovariate vonmisesvariate gammavariate gauss betavariate paretovariate "
        "weibullvariate getstate getrandbits randbytes binomialvariate",
    ),
    (DRAWN, "random", "SystemRandom"),
    (
        CHANCE, "numpy.random",
        "rand randn randint random random_sample sample choice shuffle permutation normal uniform "
        "standard_normal bytes get_state exponential poisson binomial beta gamma ranf laplace "
        "logistic lognormal multinomial multivariate_normal negative_binomial pareto power "
        "chisquare dirichlet f geometric gumbel hypergeometric logseries noncentral_chisquare "
        "noncentral_f random_integers rayleigh standard_cauchy standard_exponential "
        "standard_gamma standard_t triangular vonmises wald weibull zipf",
    ),
    (DRAWN, "secrets", "token_bytes token_hex token_urlsafe randbelow choice randbits"),
    (DRAWN, "uuid", "uuid1 uuid4 getnode"),
    (DRAWN, "os", "urandom getrandom"),
    (PROGRAMS, "subprocess", "run call check_call check_output Popen getoutput getstatusoutput"),
    (
        PROGRAMS, "os",
        "system popen posix_spawn posix_spawnp spawnl spawnle spawnlp spawnlpe spawnv spawnve "
        "spawnvp spawnvpe",
    ),
    (PROGRAMS, "asyncio", "create_subprocess_exec create_subprocess_shell"),
    (NETWORK, "socket", "socket create_connection gethostbyname gethostname getaddrinfo"),
    (NETWORK, "urllib.request", "urlopen urlretrieve"),
    (NETWORK, "http.client", "HTTPConnection HTTPSConnection"),
    (NETWORK, "ftplib", "FTP FTP_TLS"),
    (NETWORK, "asyncio", "open_connection"),
    (NETWORK, "httpx", "get post put head request stream Client AsyncClient"),
    (NETWORK, "requests", "get post put head request Session"),
    (PROCESS, "sys", "argv stdin orig_argv"),
    (PROCESS, "os", "getpid getppid getuid geteuid getgid getegid getgroups getlogin"),
    (
        MACHINE, "os",
        "uname cpu_count process_cpu_count sched_getaffinity getloadavg get_terminal_size",
    ),
    (MACHINE, "shutil", "get_terminal_size"),
    (MACHINE, "multiprocessing", "cpu_count"),
    (PROCESS, "getpass", "getuser getpass"),
    (PROCESS, "platform", "node uname"),
    (PROCESS, "builtins", "input"),
    (HASHES, "builtins", "hash"),
    (
        LOCALE, "locale",
        "getlocale localeconv setlocale getpreferredencoding getdefaultlocale getencoding strcoll "
        "strxfrm format_string currency str atof atoi delocalize localize nl_langinfo",
    ),
    (ZONE, "time", "mktime tzname"),
    (
        SETTINGS, "sys",
        "getrecursionlimit getswitchinterval get_int_max_str_digits getfilesystemencoding path "
        "flags warnoptions",
    ),
    (SETTINGS, "warnings", "filters"),
    (SETTINGS, "numpy", "geterr"),
    (MODULES, "builtins", "__import__"),
    (MODULES, "importlib", "import_module reload"),
    (MODULES, "sys", "modules"),
    (MODULES, "runpy", "run_module run_path"),
    (MODULES, "pkgutil", "resolve_name"),
    (MODULES, "pydoc", "locate"),
    (SCOPES, "inspect", "getmodule currentframe stack trace getclosurevars"),
    (SCOPES, "sys", "_getframe _current_frames"),
)  # fmt: skip

_GIVEN_LESS: Final = {
    "random.Random": (1, CHANCE),
    "numpy.random.default_rng": (1, CHANCE),
    "numpy.random.RandomState": (1, CHANCE),
    "numpy.random.SeedSequence": (1, CHANCE),
    "numpy.random.PCG64": (1, CHANCE),
    "numpy.random.PCG64DXSM": (1, CHANCE),
    "numpy.random.MT19937": (1, CHANCE),
    "numpy.random.Philox": (1, CHANCE),
    "numpy.random.SFC64": (1, CHANCE),
    "time.gmtime": (1, CLOCK),
    "time.asctime": (1, CLOCK),
    "time.strftime": (2, CLOCK),
    "email.utils.formatdate": (1, CLOCK),
    "email.utils.localtime": (1, CLOCK),
}
"""What takes something from outside only if it is given less than so many arguments."""

_NO_TIMES: Final = frozenset(("localtime", "usegmt", "isdst"))
"""Arguments by keyword that say something about a time and not which."""

_ANYWHERE: Final = {
    "__subclasses__": CLASSES,
    **dict.fromkeys(("f_globals", "f_locals", "f_builtins"), SCOPES),
    **dict.fromkeys(
        ("co_firstlineno", "co_filename", "co_lines", "co_positions", "co_linetable", "co_lnotab"),
        PLACES,
    ),
}  # fmt: skip
"""Attributes that are known by their names alone, whatever they are taken from."""

_OF_PATHS: Final = frozenset(("read_text", "read_bytes"))
_CALLED: Final = frozenset(
    (
        "open", "iterdir", "glob", "rglob", "exists", "is_file", "is_dir", "is_symlink", "stat",
        "lstat", "resolve", "expanduser", "readlink", "absolute",
    )
)  # fmt: skip
"""Methods of paths. Those in `_CALLED` are common words, and are meant where they are called.

A name alone says little: a class of the user's may have a method of the same name, whose code is
looked into like any other. So what the method is taken from is found, as far as it is written as
a name of a global, a captured variable or a default, or as the `self` of a class. Of anything
else, whoever asks has to decide whether it may be a path (`Outside.method`)."""

_OF_PLACES: Final = frozenset(("absolute", "resolve", "expanduser"))
"""Methods of paths that tell where the program was started, or whose it is."""

_TABLE_SIZE: Final = 64
"""How long a list or dict may be to be looked into: a table of functions, not data."""

_ROWS: Final = tuple(
    (module, name, kind) for kind, module, names in _TABLE for name in names.split()
)
_BY_MODULE: Final[dict[str, dict[str, Kind]]] = {
    module: {name: kind for place, name, kind in _ROWS if place == module}
    for module in {module for module, _, _ in _ROWS}
}


@dataclass(frozen=True, slots=True)
class Outside:
    """One thing outside of the program that a function takes something from."""

    name: str
    kind: Kind
    method: str = ""  # by whose name alone it is known: nobody knows what it is taken from


def outside_reads(
    function: types.FunctionType,
    classes: Sequence[type] = (),
    *,
    with_defaults: bool = True,
    is_ignored: Callable[[str], bool] = lambda name: False,
    is_users: Callable[[str], bool] = lambda module: True,
) -> Iterator[Outside]:
    """What a function's own code takes from outside, as far as that is written down.

    `classes` are those whose attributes it may take; the defaults of a cached function itself
    are arguments, and are left out with `with_defaults=False`. What is taken from a global or a
    captured variable that `is_ignored` is left out as well. `is_users` says whether a module of
    this name is the user's own.
    """
    code = function.__code__
    reads = reads_of(code)
    names = tuple(name for inner in nested_codes(code) for name in inner.co_names)
    texts: tuple[str, ...] = ()
    if "getattr" in names:  # the names of attributes may be written as texts
        texts = tuple(text for text in sorted(strings_in(code)) if text.isidentifier())
        names += texts
    held = _Held(function, with_defaults=with_defaults)
    for read in reads.globals:
        if not any(map(is_ignored, _prefixes(read))):
            yield from _found(held.globally(read.name), read, names)
    for read in captured_reads(code):
        if not is_ignored(read.name):
            yield from _found(held.captured.get(read.name, ABSENT), read, names)
    for imported in reads.imports:
        # What `import os` inside of a function is used for is told by the names of attributes.
        table = {} if imported.level else _BY_MODULE.get(imported.module, {})
        yield from _in_table(imported.module, table, imported.names or names, names)
    yield from (Outside(f".{name}", _ANYWHERE[name]) for name in names if name in _ANYWHERE)
    for call in calls_in(code):
        if not any(map(is_ignored, _prefixes(call.read))):
            yield from _given_less(held.called(call), call)
    yield from (Outside(f".{name}", FILES, name) for name in texts if name in _OF_PATHS)
    for taken in attributes_taken(code):
        if taken.attribute in _OF_PATHS or (taken.is_called and taken.attribute in _CALLED):
            source = taken.source
            if source is None or not any(map(is_ignored, _prefixes(source))):
                yield from _of_a_path(taken, function, held, classes, is_users)
    yield from _in_classes(classes, names)


def _prefixes(read: GlobalRead) -> Iterator[str]:
    """The names that one goes through: `a`, `a.b`."""
    names = (read.name, *read.attributes)
    return (".".join(names[: i + 1]) for i in range(len(names)))


def _of_a_path(
    taken: TakenAttribute,
    function: types.FunctionType,
    held: _Held,
    classes: Sequence[type],
    is_users: Callable[[str], bool],
) -> Iterator[Outside]:
    """A method that a path has too, unless what it is taken from is known to be the user's."""
    name = taken.attribute
    source = held.source(taken)
    if derives(type(source), types.ModuleType):
        module = str(module_vars(source).get("__name__"))
        owners: list[type] | None = None
        is_own = is_users(module) or name == "absolute"  # of NumPy
    else:
        owners = _owners(taken, source, function, classes)
        is_own = bool(owners) and all(_is_own(cls, name, is_users) for cls in owners)
    if not is_own:
        is_unknown = source is ABSENT and not owners
        kind = FOUND if name in _OF_PLACES else FILES
        yield Outside(f".{name}", kind, name if is_unknown else "")


def _owners(
    taken: TakenAttribute, source: Any, function: types.FunctionType, classes: Sequence[type]
) -> list[type]:
    """The classes that a method can be looked up in, where these are known."""
    if source is not ABSENT:
        return [source if derives(type(source), type) else type(source)]
    read, code = taken.source, function.__code__
    is_first = taken.scope is NameScope.LOCAL and code.co_argcount and read is not None
    if is_first and read == GlobalRead(code.co_varnames[0]):  # `self`, if it is a method
        return [cls for cls in classes if any(held is function for held in _functions_in(cls))]
    return []


def _functions_in(cls: type) -> Iterator[object]:
    for value in class_vars(cls).values():
        if type(value) is property:
            yield from (value.fget, value.fset, value.fdel)
        else:
            yield value.__func__ if type(value) is classmethod else value


def _is_own(cls: type, name: str, is_users: Callable[[str], bool]) -> bool:
    """Whether a class of the user's is where a method is defined."""
    home = next((base for base in mro(cls) if name in class_vars(base)), None)
    return home is not None and is_users(module_name(home))


def named_outside(function: types.FunctionType) -> Iterator[tuple[Outside, str]]:
    """The variables and files that a function names by constant texts: what takes them, and which.

    Files that are opened to be written are none that it reads.
    """
    held = _Held(function, with_defaults=True)
    for call in calls_in(function.__code__):
        first = _first_text(call)
        if first is None:
            continue
        value = held.called(call)
        found = _known(value) or _along(value, call.read.attributes)
        if found is None:
            continue
        reads_file = found.name in _OPENS and _reads(call)
        if found.name in _VARIABLES or reads_file:
            yield found, first


_VARIABLES: Final = ("os.environ", "os.getenv")
_OPENS: Final = ("open", "io.open")


def _reads(call: Call) -> bool:
    """Whether a call of `open` is known to be for reading."""
    by_place = call.arguments - len(call.keywords)
    if "mode" in call.keywords:
        place = by_place + call.keywords.index("mode")
    elif by_place > 1:
        place = 1
    else:
        return True
    mode = call.texts[place] if place < len(call.texts) else "w"  # which may be any
    return set(mode).isdisjoint("wax")


def _first_text(call: Call) -> str | None:
    """The constant text that is the first argument of a call."""
    by_place = call.arguments - len(call.keywords)
    if not call.texts or (not by_place and call.keywords[0] not in ("key", "file")):
        return None
    return call.texts[0]


class _Held:
    """What the names in a function stand for, as far as that is known before it runs."""

    def __init__(self, function: types.FunctionType, *, with_defaults: bool) -> None:
        self._scope, self._builtins = function_scope(function)
        self.captured = _captured(function, with_defaults=with_defaults)
        self._imported = dict(_imported(reads_of(function.__code__).imports))

    def globally(self, name: str) -> Any:
        """What a global or a builtin of this name is."""
        return reified(self._scope.get(name, self._builtins.get(name, ABSENT)))

    def called(self, call: Call) -> Any:
        """What the name stands for by which something is called."""
        name = call.read.name
        if call.is_local:
            return self._imported.get(name, self.captured.get(name, ABSENT))
        found = self.captured.get(name, ABSENT)
        return self.globally(name) if found is ABSENT else found

    def source(self, taken: TakenAttribute) -> Any:
        """What an attribute is taken from, if that is known; else ABSENT."""
        read = taken.source
        if read is None or taken.scope not in (NameScope.GLOBAL, NameScope.CAPTURED):
            return ABSENT
        held = self.globally if taken.scope is NameScope.GLOBAL else self.captured.get
        value = held(read.name)
        return ABSENT if value is None or value is ABSENT else _last(value, read.attributes)


def _imported(imports: Iterable[ImportRead]) -> Iterator[tuple[str, Any]]:
    """What imports in a body bring under their own names, of modules that have been loaded."""
    for read in imports:
        module = sys.modules.get(read.module)
        if read.level or not derives(type(module), types.ModuleType):
            continue
        for name in read.names:
            yield name, reified(module_vars(cast("types.ModuleType", module)).get(name, ABSENT))
        if not read.names and not read.renamed:
            top = read.module.partition(".")[0]
            yield top, sys.modules.get(top, ABSENT)


def _captured(function: types.FunctionType, *, with_defaults: bool) -> dict[str, Any]:
    """The values of captured variables and, for parameters, of their defaults."""
    code = function.__code__
    held: dict[str, Any] = {}
    if with_defaults:
        defaults = function.__defaults__ or ()
        last = code.co_varnames[: code.co_argcount]
        held.update(zip(last[len(last) - len(defaults) :], defaults, strict=True))
        held.update(function.__kwdefaults__ or {})
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        # What makes up the default of a field runs when an object is made, not when it is used.
        if not name.startswith(("_dflt_", "__dataclass_dflt_")):
            with contextlib.suppress(ValueError):  # not set yet
                held[name] = cell.cell_contents
    return held


def _found(value: Any, read: GlobalRead, names: tuple[str, ...]) -> Iterator[Outside]:
    found = _known(value) or _along(value, read.attributes)
    if found is not None:
        yield found
        return
    if type(value) in (dict, list, tuple) and len(value) <= _TABLE_SIZE:
        each = value.values() if type(value) is dict else value
        yield from (known for known in map(_known, tuple(each)) if known is not None)
    # What a module or a class is used for under another name is told by the names of attributes.
    last = _last(value, read.attributes)
    if derives(type(last), types.ModuleType):
        module = str(module_vars(last).get("__name__"))
        yield from _in_table(module, _BY_MODULE.get(module, {}), names, names)
    elif derives(type(last), type):
        yield from (found for name in names if (found := _of_class(last, name)) is not None)


def _last(value: Any, attributes: tuple[str, ...]) -> Any:
    """What a way through modules ends at; ABSENT if it leads out of them."""
    for attribute in attributes:
        if not derives(type(value), types.ModuleType):
            return ABSENT
        name = str(module_vars(value).get("__name__"))
        found = module_vars(value).get(attribute, sys.modules.get(f"{name}.{attribute}", ABSENT))
        value = reified(found)
    return value


def _in_table(
    module: str, table: dict[str, Kind], taken: tuple[str, ...], names: tuple[str, ...]
) -> Iterator[Outside]:
    """What is taken from a module, or by the name of an attribute from a class of it."""
    for row, kind in table.items():
        owner, _, method = row.partition(".")
        if owner in taken and (not method or method in names):
            yield Outside(f"{module}.{row}", kind)


def _in_classes(classes: Iterable[type], names: tuple[str, ...]) -> Iterator[Outside]:
    """What an attribute of a class is, that is taken by its name: `clock = staticmethod(time)`."""
    for cls in classes:
        for name in names:
            value = class_vars(cls).get(name)
            known = _known(value.__func__ if type(value) is staticmethod else value)
            if known is not None:
                yield known


def _given_less(value: Any, call: Call) -> Iterator[Outside]:
    attributes = call.read.attributes
    given = call.arguments - len(_NO_TIMES.intersection(call.keywords))
    for i, attribute in enumerate(attributes):
        if not derives(type(value), types.ModuleType):
            return
        name = str(module_vars(value).get("__name__"))
        found = module_vars(value).get(attribute, sys.modules.get(f"{name}.{attribute}"))
        value = reified(found)
        if value is None:  # a part of a library that loads its parts when they are used
            dotted = ".".join((name, *attributes[i:]))
            if dotted in _GIVEN_LESS and given < _GIVEN_LESS[dotted][0]:
                yield Outside(dotted, _GIVEN_LESS[dotted][1])
            return
    for dotted, (enough, kind) in _GIVEN_LESS.items():
        module, _, name = dotted.rpartition(".")
        loaded = module_vars(sys.modules[module]) if module in sys.modules else {}
        if given < enough and name in loaded and loaded[name] is value:
            yield Outside(dotted, kind)


def _along(value: Any, attributes: tuple[str, ...]) -> Outside | None:
    """The first thing outside on the way from a module or class along its attributes."""
    for i, attribute in enumerate(attributes):
        if derives(type(value), types.ModuleType):
            name = str(module_vars(value).get("__name__"))
            found = module_vars(value).get(attribute, sys.modules.get(f"{name}.{attribute}"))
            value = reified(found)
            if value is None:  # a part of a library that loads its parts when they are used
                return _by_name(f"{name}.{attribute}", attributes[i + 1 :])
            if not callable(value) and attribute in _BY_MODULE.get(name, {}):
                return _by_name(name, (attribute,))  # a list that may be another by now
        elif derives(type(value), type):
            return _of_class(value, attribute)
        else:
            return None
        found = _known(value)
        if found is not None:
            return found
    return None


def _by_name(module: str, attributes: tuple[str, ...]) -> Outside | None:
    name = attributes[0] if attributes else ""
    kind = _BY_MODULE.get(module, {}).get(name)
    return None if kind is None else Outside(f"{module}.{name}", kind)


def _of_class(cls: type, attribute: str) -> Outside | None:
    for owner, name, found in _methods():
        if name == attribute and derives(type(owner), type) and derives(cls, owner):
            own = next((base for base in cls.__mro__ if name in class_vars(base)), owner)
            return found if derives(owner, own) else None  # unless it has one of its own
    return None


def _methods() -> Iterator[tuple[Any, str, Outside]]:
    for module, dotted, kind in _ROWS:
        owner, _, name = dotted.partition(".")
        if name and module in sys.modules:
            held = module_vars(sys.modules[module]).get(owner, ABSENT)
            yield held, name, Outside(f"{module}.{dotted}", kind)


def _known(value: Any) -> Outside | None:
    """What an object is, if it is in the table; told by identity, under whatever name it came."""
    found = _identities(tuple(name in sys.modules for name in _BY_MODULE)).get(id(value))
    if found is None and type(value) in (types.BuiltinMethodType, types.MethodType):
        owner = value.__self__
        return _of_class(owner, value.__name__) if derives(type(owner), type) else None
    return found


@functools.lru_cache(maxsize=4)
def _identities(loaded: tuple[bool, ...]) -> dict[int, Outside]:
    """The objects of the table by address, as far as their modules have been loaded."""
    found: dict[int, Outside] = {}
    for module, name, kind in _ROWS:
        held = (
            module_vars(sys.modules[module]).get(name, ABSENT) if module in sys.modules else ABSENT
        )
        if held is not ABSENT:
            _kept.append(held)
            short = name if module == "builtins" else f"{module}.{name}"
            found.setdefault(id(held), Outside(short, kind))
    return found


_kept: Final[list[object]] = []  # what is known by its address must stay alive
