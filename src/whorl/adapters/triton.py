"""Triton's kernels in whorl's cache, under keys that count all that their code reads.

    TRITON_CACHE_MANAGER=whorl.adapters.triton:Manager python train.py

Triton's own key is the text of a kernel and of the functions that it calls. It leaves out constants
that are read as `module.NAME`, defaults that are given by a name, and what functions that run at
compile time read. So a cached kernel goes on with the old values. It counts comments and line
numbers, so kernels are compiled again that have not changed.

Triton asks a manager for files by a key, which is a digest: it cannot be taken apart. So the source
of the kernel is taken from the call of `triton.compile` that asks. See docs/adr/0052.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any, Final
from weakref import WeakKeyDictionary

from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.digest import StableDigest
from whorl.fingerprint.names import known_module_name
from whorl.lazy import load
from whorl.locks import ForkSafeLock
from whorl.signals import pass_on
from whorl.store import ForeignEntry, ForeignLease, KeyPart, default_cache

from .code_description import CodeDescription, describe, key_of
from .host_library import HostLibrary, say_not_cached

__all__ = ["LIBRARY", "Manager", "install"]

LIBRARY: Final = HostLibrary("triton", (3, 4), (3, 10))

_NEAR: Final = 8  # frames between Triton's function and the manager that it makes
_LEAVING_OUT: Final = "whorl.adapters.triton.install(ignores=[NAME])"
_ignored: Final[set[str]] = set()


class CacheManager:
    """Triton accepts a class of which one base has this name."""


class Manager(CacheManager):
    """The manager of Triton's files: kernels, launchers and timings, in whorl's cache.

    Name it in `TRITON_CACHE_MANAGER`, or call `install`. Triton makes one for each kernel that it
    compiles or looks up, not for launches.
    """

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        self._files: Any
        if override or dump or not _is_supported():
            own = load("triton.runtime.cache").FileCacheManager
            self._files = own(key, override=override, dump=dump)
        else:
            self._files = _files_for(key, sys._getframe(1))

    def get_file(self, filename: str) -> str | None:
        """The path of a file, if there is one."""
        path: str | None = self._files.get_file(filename)
        return path

    def put(self, data: object, filename: str, binary: bool = True) -> str:
        """Write a file; returns its path."""
        return str(self._files.put(data, filename, binary))

    def get_group(self, filename: str) -> dict[str, str] | None:
        """The paths of all files of a kernel, if it has been compiled."""
        group: dict[str, str] | None = self._files.get_group(filename)
        return group

    def put_group(self, filename: str, group: Mapping[str, str]) -> object:
        """Keep a kernel: the last of its files has been written."""
        return self._files.put_group(filename, group)


def install(*, ignores: Iterable[str] = ()) -> bool:
    """Let Triton use whorl's cache from now on, in this process; false for unknown versions.

    `ignores` are globals that do not count (`LOCK`, `kernels.LOCK`), in addition to those of
    earlier calls.
    """
    if not _is_supported():
        return False
    _ignored.update(ignores)
    _known.clear()
    load("triton.knobs").cache.manager_class = Manager
    return True


@cache
def _is_supported() -> bool:
    return LIBRARY.is_supported()


# -- what is asked for -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Request:
    """What Triton asks for: an entry of this key, or nothing that can be kept."""

    name: str
    key: StableDigest | None
    parts: Callable[[], tuple[KeyPart, ...]] = tuple  # for a miss


def _files_for(key: str, frame: FrameType) -> _KernelFiles | _SingleFiles:
    compiler, tuner = load("triton.compiler.compiler"), load("triton.runtime.autotuner")
    caller = _call_of(compiler.compile, frame)
    if caller is not None:
        return _KernelFiles(_kernel_request(caller.f_locals))
    caller = _call_of(getattr(tuner.Autotuner, "check_disk_cache", None), frame)
    if caller is not None:
        return _SingleFiles(_timings_request(key, caller.f_locals["fn"]))
    return _SingleFiles(_Request("triton", key_of("triton file", key)))  # C code: all is in the key


def _call_of(function: Any, frame: FrameType | None) -> FrameType | None:
    """The call of a function that has led here, if it is near."""
    code: CodeType | None = getattr(function, "__code__", None)
    for _ in range(_NEAR):
        if frame is None or frame.f_code is code:
            return frame
        frame = frame.f_back
    return None


def _kernel_request(compile_call: Mapping[str, Any]) -> _Request:
    """The request that a call of `triton.compile` makes: by its local variables."""
    source, options = compile_call["src"], compile_call["options"]
    triton_key, text_key = str(compile_call["key"]), str(source.hash())
    tool_parts = partial(_tool_parts, {**compile_call})
    if not hasattr(source, "fn"):  # a file of an intermediate language
        return _Request(str(source.name), key_of("triton", triton_key), tool_parts)
    name = _name_of(source.fn)
    code = _code_of(source.fn, name)
    given = None if code is None else _described(name, beside=_beside(source))
    if code is None or given is None or text_key not in triton_key:
        return _Request(name, None)
    tools = triton_key.replace(text_key, "")
    places = _places(code) if getattr(options, "debug", False) else ()
    texts = sorted(_texts_of_libraries(code))
    key = key_of("triton", tools, type(source).__name__, code.digest, given.digest, places, texts)
    return _Request(name, key, lambda: (*given.parts(), *code.parts(), *tool_parts()))


def _beside(source: Any) -> dict[str, object]:
    """What counts beside the code: types, constants and what is known of the arguments."""
    names = [*source.signature]
    constants = {
        f"constexpr:{'.'.join([names[path[0]], *map(str, path[1:])])}": value
        for path, value in source.constants.items()
    }
    types = {f"type:{name}": kind for name, kind in source.signature.items()}
    return {**types, **constants, "arguments": sorted(source.attrs.items())}


def _timings_request(key: str, function: Any) -> _Request:
    """The timings of an autotuner: its key has the text of the kernel, and so this has too."""
    name = f"{_name_of(function)} (timings)"
    code = _code_of(function, name)
    if code is None:
        return _Request(name, None)
    return _Request(name, key_of("triton timings", key, code.digest), code.parts)


_known: Final[WeakKeyDictionary[Any, CodeDescription]] = WeakKeyDictionary()


def _code_of(function: Any, name: str) -> CodeDescription | None:
    """The code of a kernel and all that it reads: taken again if any of it has changed."""
    code = _known.get(function.fn)
    if code is None or not code.holds():
        code = _described(name, function)
        if code is not None:
            _known[function.fn] = code
    return code


def _described(
    name: str, *roots: object, beside: Mapping[str, object] | None = None
) -> CodeDescription | None:
    """A description; None if there is none, which is said once."""
    try:
        return describe(
            name,
            *roots,
            beside=beside,
            ignores=_ignored,
            leaving_out=_LEAVING_OUT,
            pure=True,  # functions that run at compile time
        )
    except Exception as error:
        pass_on(error)
        say_not_cached(name, error)
        return None


def _name_of(function: Any) -> str:
    return f"{known_module_name(function.fn.__module__)}.{function.fn.__qualname__}"


def _texts_of_libraries(code: CodeDescription) -> set[str]:
    """Triton's own keys of the functions that kernels read as attributes of installed modules.

    whorl knows modules of a distribution by its version. Triton notices when one is edited by hand.
    """
    found: set[str] = set()
    for function in code.functions():
        names = frozenset(function.__code__.co_names)
        scopes = {id(function.__globals__): function.__globals__}
        waiting: list[dict[str, Any]] = [function.__globals__]
        value: Any
        while waiting:
            scope = waiting.pop()
            for value in map(scope.get, names):
                if type(value) is ModuleType:
                    if not _is_of_triton(value) and id(vars(value)) not in scopes:
                        scopes[id(vars(value))] = vars(value)
                        waiting.append(vars(value))
                elif scope is not function.__globals__ and hasattr(type(value), "cache_key"):
                    found.add(str(value.cache_key))
    return found


def _is_of_triton(module: ModuleType) -> bool:
    return module.__name__.partition(".")[0] == "triton"


def _places(description: CodeDescription) -> tuple[tuple[str, int], ...]:
    """Where the code is: the messages of `tl.device_assert` tell, which `debug` turns on."""
    codes = (function.__code__ for function in description.functions())
    return tuple((code.co_filename, code.co_firstlineno) for code in codes)


def _tool_parts(compile_call: Mapping[str, Any]) -> tuple[KeyPart, ...]:
    """The parts of a key that are no code: Triton, its tools, the target and the options."""
    target, backend = compile_call["target"], compile_call["backend"]
    options, variables = vars(compile_call["options"]), compile_call["env_vars"]
    return (
        KeyPart("triton", LIBRARY.version(), _digest_of_triton()),
        KeyPart("target", f"{target.backend} {target.arch} {target.warp_size}"),
        KeyPart("tools", _text(backend.hash())),
        *(KeyPart(f"option:{name}", _text(value)) for name, value in sorted(options.items())),
        *(KeyPart(f"env:{name}", str(value)) for name, value in sorted(variables.items())),
    )


@cache
def _digest_of_triton() -> str:
    """The digest of Triton's files, which it has taken itself."""
    known = getattr(load("triton.runtime.cache"), "triton_key", None)
    known = known or load("triton.compiler.compiler").triton_key  # before Triton 3.5
    return str(key_of(known()))


def _text(value: object) -> str:
    text = str(value)
    return text if len(text) < 80 and "\n" not in text else f"<{key_of(text)}>"


# -- files -----------------------------------------------------------------------------


class _KernelFiles:
    """The files of one kernel: an entry of the cache, or what a compile writes one by one."""

    def __init__(self, request: _Request) -> None:
        self._request = request
        self._files: dict[str, str] = {}
        self._place: Path | None = None
        self._written: dict[str, bytes] = {}
        self._lease: ForeignLease | None = None
        self._start = time.perf_counter()

    def get_group(self, filename: str) -> dict[str, str] | None:
        """The files of the kernel if it is in the cache; if not, this process is to compile it."""
        if self._request.key is None:
            return None
        cache = default_cache()
        entry = cache.find(self._request.key)
        if entry is None:
            self._lease = cache.begin(self._request.key, name=self._request.name)
            entry = self._lease.found
        self._start = time.perf_counter()
        if entry is None:
            return None
        self._files = _files_of(entry)
        return {**self._files}

    def get_file(self, filename: str) -> str | None:
        """A file that was written or found."""
        return self._files.get(filename)

    def put(self, data: object, filename: str, binary: bool) -> str:
        """Write a file. It is kept with the others."""
        self._place = self._place or _new_directory()
        self._written[filename] = _as_bytes(data)
        path = self._files[filename] = _write(self._place, filename, self._written[filename])
        return path

    def put_group(self, filename: str, group: Mapping[str, str]) -> str:
        """Keep the kernel."""
        if self._request.key is not None:
            lease, self._lease = self._lease, None
            seconds = time.perf_counter() - self._start
            _keep(self._request, self._request.key, self._written, seconds, lease)
        return self._files.get(filename, "")


class _SingleFiles:
    """Files that Triton keeps one by one: C modules, timings of autotuners."""

    def __init__(self, request: _Request) -> None:
        self._request = request
        self._start = time.perf_counter()

    def get_file(self, filename: str) -> str | None:
        """The path of a file, if it is in the cache."""
        key = self._key_of(filename)
        entry = None if key is None else default_cache().find(key)
        return None if entry is None else _files_of(entry).get(filename)

    def put(self, data: object, filename: str, binary: bool) -> str:
        """Keep a file."""
        key, content = self._key_of(filename), _as_bytes(data)
        if key is not None:
            seconds = time.perf_counter() - self._start
            _keep(self._request, key, {filename: content}, seconds, None)
        return _write(_new_directory(), filename, content)

    def get_group(self, filename: str) -> dict[str, str] | None:
        """The paths of the files that were put as a group."""
        listed = self.get_file(f"{filename}.group")
        if listed is None:
            return None
        names = json.loads(Path(listed).read_text(encoding="utf-8"))
        found = {name: path for name in names if (path := self.get_file(name)) is not None}
        return found if len(found) == len(names) else None

    def put_group(self, filename: str, group: Mapping[str, str]) -> str:
        """Note which files are a group."""
        return self.put(json.dumps(sorted(group)), f"{filename}.group", False)

    def _key_of(self, filename: str) -> StableDigest | None:
        key = self._request.key
        return None if key is None else key_of(key, filename)


def _keep(
    request: _Request,
    key: StableDigest,
    payloads: Mapping[str, bytes],
    seconds: float,
    lease: ForeignLease | None,
) -> None:
    about: dict[str, Any] = {
        "name": request.name,
        "parts": request.parts(),
        "seconds": seconds,
        "toolchain": LIBRARY.toolchain(),
    }
    if lease is None:
        default_cache().keep(key, payloads, **about)
    else:
        lease.commit(payloads, **about)


def _as_bytes(data: object) -> bytes:
    return data if isinstance(data, bytes) else str(data).encode()


# -- where files are -------------------------------------------------------------------
#
# Triton reads a kernel's files when it has found them, and hands their paths to hooks of profilers.
# So they live as long as the process, in a directory of its own.

_lock: Final = ForkSafeLock()
_homes: Final[dict[int, Path]] = {}  # by process: a forked child has its own
_found: Final[dict[StableDigest, dict[str, str]]] = {}  # the files of entries that were found


def _files_of(entry: ForeignEntry) -> dict[str, str]:
    """The paths of the files of an entry, which are written once in a process."""
    known = _found.get(entry.key)
    if known is None or not all(map(os.path.exists, known.values())):
        place = _new_directory()
        known = {name: _write(place, name, data) for name, data in entry.payloads.items()}
        _found[entry.key] = known
    return known


def _write(place: Path, name: str, content: bytes | memoryview) -> str:
    path = place / name
    path.write_bytes(content)
    return str(path)


def _new_directory() -> Path:
    return Path(tempfile.mkdtemp(dir=_home()))


def _home() -> Path:
    process = os.getpid()
    with _lock:
        home = _homes.get(process)
        if home is None or not home.is_dir():
            home = _homes[process] = Path(tempfile.mkdtemp(prefix="whorl-triton-"))
            atexit.register(_remove, home, process)
            if "multiprocessing" in sys.modules:  # whose children skip `atexit`
                finalize = load("multiprocessing.util").Finalize
                finalize(None, _remove, (home, process), exitpriority=0)
    return home


def _remove(home: Path, process: int) -> None:
    if process == os.getpid():
        shutil.rmtree(home, ignore_errors=True)
