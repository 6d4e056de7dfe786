"""The tables of functions and attributes that read something no key can see.

A file, the environment, the time of day, random numbers: each row says which kind of thing a
function of a library reads, and each kind how its author can make it part of the key.
"""

from __future__ import annotations

from typing import Final

from whorl.fast_dataclasses import dataclass

HAVE_PATHS: Final = frozenset(
    ("pathlib", "importlib", "importlib_resources", "py", "tempfile", "upath", "zipfile")
)
"""Packages whose classes and functions make paths, or objects with the methods of paths."""


@dataclass(frozen=True, slots=True)
class ImpureKind:
    """A kind of thing outside of the program, and how to make it part of a key.

    In a remedy, 'USED' stands for what is used and 'NAME' for the variable that it names.
    `declaration` are the options of a cached function that let something count in its place.
    """

    name: str
    remedy: str
    declaration: str = ""


FILES: Final = ImpureKind(
    "the file system",
    "Declare fixed files with files=[...], parameters that are paths with by_content=[...]",
)
FOUND_FILES: Final = ImpureKind(FILES.name, "Find it outside, and pass it as an argument")
ENVIRONMENT: Final = ImpureKind(
    "the environment", "Declare the variables with environment={'NAME': None}"
)
HOME: Final = ImpureKind(ENVIRONMENT.name, "Pass the path as an argument")
CLOCK: Final = ImpureKind("the time of day", "Pass the time as an argument")
CHANCE: Final = ImpureKind(
    "random numbers",
    "Pass a seed as an argument, and draw from a generator that is made of it "
    "(random.Random(seed), numpy.random.default_rng(seed))",
)
DRAWN: Final = ImpureKind(CHANCE.name, "Draw it outside, and pass it as an argument")
PROGRAMS: Final = ImpureKind(
    "another program",
    "Run it outside, and pass what it returns as an argument; or let what tells its version count "
    "in its place: reads=[version], ignores=['USED']",
)
NETWORK: Final = ImpureKind("the network", "Fetch the data outside, and pass it as an argument")
MACHINE: Final = ImpureKind("the machine", "Pass it as an argument")
PROCESS: Final = ImpureKind("what the process was started with", "Pass it as an argument")

MODULES: Final = ImpureKind(
    "code that is found by its name",
    "Import it at the top of the module",
    "reads=[module], ignores=['USED']",
)
CLASSES: Final = ImpureKind(MODULES.name, "Write the classes down in a tuple, and go through that")
SCOPES: Final = ImpureKind(
    "names that are taken from a function or a frame",
    "Import the module at the top of the file, and take the name from it",
)
HASHES: Final = ImpureKind(
    "the hash seed of the process",
    "Use a digest that is the same in every process (hashlib, zlib.crc32, whorl.fingerprint)",
)
LOCALE: Final = ImpureKind("the locale", "Pass what counts of it as an argument")
ZONE: Final = ImpureKind("the time zone", "Pass what counts of it as an argument")
SETTINGS: Final = ImpureKind("settings of the process", "Pass it as an argument")
PLACES: Final = ImpureKind("where code stands in its file", "Pass it as an argument")

_TABLE: Final[tuple[tuple[ImpureKind, str, str], ...]] = (
    (FILES, "builtins", "open"),
    (FILES, "io", "open FileIO"),
    (
        FILES, "os",
        "open listdir scandir walk stat lstat readlink access fdopen",
    ),
    (FOUND_FILES, "os", "getcwd getcwdb"),
    (
        FILES, "os.path",
        "exists isfile isdir islink getmtime getctime getatime getsize lexists samefile ismount",
    ),
    (FOUND_FILES, "os.path", "realpath abspath relpath"),
    (FILES, "glob", "glob iglob"),
    (FOUND_FILES, "pathlib", "Path.cwd Path.home"),
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
    (FOUND_FILES, "shutil", "which disk_usage"),
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

GIVEN_LESS: Final = {
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
"""Functions that are impure only with fewer arguments than this."""

NO_TIMES: Final = frozenset(("localtime", "usegmt", "isdst"))
"""Keyword arguments that do not give a time."""

ANYWHERE: Final = {
    "__subclasses__": CLASSES,
    **dict.fromkeys(("f_globals", "f_locals", "f_builtins"), SCOPES),
    **dict.fromkeys(
        ("co_firstlineno", "co_filename", "co_lines", "co_positions", "co_linetable", "co_lnotab"),
        PLACES,
    ),
}  # fmt: skip
"""Attributes that are known by their names alone, whatever they are taken from."""

PATH_ATTRIBUTES: Final = frozenset(("read_text", "read_bytes"))
PATH_METHODS: Final = frozenset(
    (
        "open", "iterdir", "glob", "rglob", "exists", "is_file", "is_dir", "is_symlink", "stat",
        "lstat", "resolve", "expanduser", "readlink", "absolute",
    )
)  # fmt: skip
"""Methods of paths. Those in `PATH_METHODS` are common words, and are meant where they are called.

A name alone says little: a class of the user's may have a method of the same name, whose code is
checked like any other. So the object that has the method is looked up, if it is a global, a
captured variable, a default or the `self` of a class. For anything else, the caller has to decide
whether it may be a path (`ImpureRead.method`)."""

PLACE_METHODS: Final = frozenset(("absolute", "resolve", "expanduser"))
"""Methods of paths that depend on the current directory or on the user."""

ROWS: Final = tuple(
    (module, name, kind) for kind, module, names in _TABLE for name in names.split()
)
BY_MODULE: Final[dict[str, dict[str, ImpureKind]]] = {
    module: {name: kind for place, name, kind in ROWS if place == module}
    for module in {module for module, _, _ in ROWS}
}
