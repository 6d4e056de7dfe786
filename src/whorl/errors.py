"""The exceptions of whorl: each says where it happened, what is wrong, and what to do.

Wrong arguments raise a plain `TypeError` or `ValueError`. Each exception here has attributes with
the same information as its message.
"""

from __future__ import annotations

from types import TracebackType
from typing import Final


class WhorlError(Exception):
    """The base class of the exceptions of whorl.

    >>> issubclass(UnsupportedValue, WhorlError)
    True
    """


class UnsupportedValue(WhorlError, TypeError):
    """A value has no fingerprint, because its state cannot be known exactly.

    `path` is the path from the value to the part without a fingerprint, in Python syntax;
    `type_name` is the type of that part; `reason` says why it has no fingerprint, `remedy` what
    to do. `others` are the errors about other arguments of the same call.

    >>> import whorl
    >>> try:
    ...     whorl.fingerprint({"sentinel": object()})
    ... except UnsupportedValue as error:
    ...     print(error.path, "|", error.type_name)
    value['sentinel'] | object
    """

    def __init__(self, path: str, type_name: str, reason: str, remedy: str) -> None:
        super().__init__(path, type_name, reason, remedy)
        self.path = path
        self.type_name = type_name
        self.reason = reason
        self.remedy = remedy
        self.others: tuple[UnsupportedValue, ...] = ()

    def __str__(self) -> str:
        what = (
            f"{self.path} is of type '{self.type_name}', which has no fingerprint: {self.reason}.\n"
            f"  {self.remedy}"
        )
        return "\n".join([what, *map(str, self.others)])


class BadSetting(WhorlError, ValueError):
    """A setting of whorl has an invalid value.

    `name` is the environment variable or the argument that it came from.

    >>> import whorl
    >>> try:
    ...     whorl.configure(cache_max_size="5 bananas")
    ... except BadSetting as error:
    ...     print(error.name, "|", error.value)
    cache_max_size | 5 bananas
    """

    def __init__(self, name: str, value: object, expected: str) -> None:
        super().__init__(name, value, expected)
        self.name = name
        self.value = value
        self.expected = expected

    def __str__(self) -> str:
        return f"{self.name} is {self.value!r}; it should be {self.expected}."


class UnsafeDirectory(WhorlError):
    """Another user could have written to the cache directory, so no code is loaded from it.

    >>> print(UnsafeDirectory("cache", "its group may write to it", "Run: chmod go-w cache"))
    The cache directory cache is not used: its group may write to it.
      Run: chmod go-w cache
    """

    def __init__(self, directory: str, reason: str, remedy: str) -> None:
        super().__init__(directory, reason, remedy)
        self.directory = directory
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        return f"The cache directory {self.directory} is not used: {self.reason}.\n  {self.remedy}"


class UnsupportedRead(WhorlError, TypeError):
    """A compile reads a value that cannot be recorded exactly.

    `path` is the path of the value, `type_name` its type, and `line` the line of the compiler or
    of its program that reads it.

    >>> error = UnsupportedRead("arg:self.uid", "uuid.UUID", "it has no signature", "solver.py:41")
    >>> print(error)
    arg:self.uid is a 'uuid.UUID' that cannot be recorded: it has no signature.
      read at solver.py:41
      Pass the data that you need from it as an argument (a number, a string, an array), or store
      the artifact in this process only: cache="process".
    """

    def __init__(
        self, path: str, type_name: str, reason: str, line: str = "", remedy: str = ""
    ) -> None:
        super().__init__(path, type_name, reason, line, remedy)
        self.path = path
        self.type_name = type_name
        self.reason = reason
        self.line = line
        self.remedy = remedy or (
            "Pass the data that you need from it as an argument (a number, a string, an array), or "
            'store\n  the artifact in this process only: cache="process".'
        )

    def __str__(self) -> str:
        at = f"\n  read at {self.line}" if self.line else ""
        what = f"{self.path} is a '{self.type_name}' that cannot be recorded: {self.reason}."
        return f"{what}{at}\n  {self.remedy}"


class UnsupportedFunction(WhorlError, TypeError):
    """The results of a function cannot be cached, because whorl cannot know what it reads.

    `function` is its name; `path` says what it reads, and through which calls; `type_name` is the
    type of that; `reason` says why whorl cannot know it, `remedy` what to do. `others` are errors
    about the same function, for what else it reads.

    >>> remedy = "Leave it out with whorl.cached(ignores=['LOCK'])."
    >>> print(UnsupportedFunction("app.solve", "LOCK", "lock", "it is a lock", remedy))
    The results of app.solve cannot be cached: it reads LOCK, of type 'lock', and it is a lock.
      Leave it out with whorl.cached(ignores=['LOCK']).
    """

    def __init__(self, function: str, path: str, type_name: str, reason: str, remedy: str) -> None:
        super().__init__(function, path, type_name, reason, remedy)
        self.function = function
        self.path = path
        self.type_name = type_name
        self.reason = reason
        self.remedy = remedy
        self.others: tuple[UnsupportedFunction, ...] = ()

    def __str__(self) -> str:
        if self.type_name == "function":  # the reason says which, and what it does
            through = f" (reached through {self.path})" if "->" in self.path else ""
            what = f"{self.reason}{through}"
        else:
            what = f"it reads {self.path}, of type '{self.type_name}', and {self.reason}"
        text = f"The results of {self.function} cannot be cached: {what}.\n  {self.remedy}"
        return "\n".join([text, *map(str, self.others)])


class Drifted(WhorlError, RuntimeError):
    """Something that an artifact or a result depends on has changed, and `on_drift` is "raise".

    `changes` lists what has changed: the path, the old and the new fact, as text.

    >>> print(Drifted("solver.step", (("global:solver.SCALE", "2.0", "3.0"),)))
    What solver.step was compiled from has changed:
      global:solver.SCALE: 2.0 -> 3.0
      Restore it, or let the kernel follow with on_drift="recompile".
    """

    def __init__(
        self,
        kernel: str,
        changes: tuple[tuple[str, str, str], ...],
        *,
        verb: str = "was compiled from",
        remedy: str = 'Restore it, or let the kernel follow with on_drift="recompile".',
    ) -> None:
        super().__init__(kernel, changes)
        self.kernel = kernel
        self.changes = changes
        self.verb = verb
        self.remedy = remedy

    def __str__(self) -> str:
        lines = "".join(f"\n  {path}: {old} -> {new}" for path, old, new in self.changes)
        return f"What {self.kernel} {self.verb} has changed:{lines}\n  {self.remedy}"


class NoCompiler(WhorlError, ImportError):
    """Something has to be compiled where LLVM is not installed.

    >>> print(NoCompiler())
    llvmlite is not installed, so nothing can be compiled here.
      Install it (pip install llvmlite), or ship what this call needs in a bundle: `whorl why` says
      what that is.
    """

    def __init__(self) -> None:
        super().__init__(
            "llvmlite is not installed, so nothing can be compiled here.\n"
            "  Install it (pip install llvmlite), or ship what this call needs in a bundle: "
            "`whorl why` says\n  what that is."
        )


class RequiredHit(WhorlError, LookupError):
    """A lookup missed although `WHORL_REQUIRE_HIT` is set.

    `name` is the kernel or function, `why` the explanation of the miss, as text. `cache`
    is "on", "off" or "readonly", as WHORL_CACHE is, or "process" if nothing is kept beyond it.

    >>> print(RequiredHit("solver.step", "solver.step: miss, first compile"))
    solver.step is not in the cache, and WHORL_REQUIRE_HIT forbids a miss.
      solver.step: miss, first compile
      Fill the cache first (whorl warm SCRIPT, whorl import BUNDLE), or allow compiles with
      WHORL_REQUIRE_HIT=0.
    """

    def __init__(self, name: str, why: str, cache: str = "on") -> None:
        super().__init__(name, why, cache)
        self.name = name
        self.why = why
        self.cache = cache

    def __str__(self) -> str:
        why = "\n  ".join(self.why.splitlines())
        return (
            f"{self.name} is not in the cache, and WHORL_REQUIRE_HIT forbids a miss.\n  {why}\n"
            f"  {_WAYS_TO_HIT[self.cache]}, or allow compiles with\n  WHORL_REQUIRE_HIT=0."
        )


_WAYS_TO_HIT = {
    "on": "Fill the cache first (whorl warm SCRIPT, whorl import BUNDLE)",
    "off": "Switch the cache on (WHORL_CACHE=on) and fill it first (whorl warm SCRIPT)",
    "readonly": "Fill the cache first (whorl warm SCRIPT, WHORL_CACHE=on whorl import BUNDLE)",
    "process": "It is kept in this process only: keep it on disk and fill that (whorl warm SCRIPT)",
}


class CompilerFailed(WhorlError, TypeError):
    """A method of a compiler returned a wrong value.

    >>> print(CompilerFailed("mydsl", "compile", "None", "a whorl.Artifact"))
    mydsl.compile returned None; it should return a whorl.Artifact.
    """

    def __init__(self, compiler: str, method: str, returned: str, expected: str) -> None:
        super().__init__(compiler, method, returned, expected)
        self.compiler = compiler

    def __str__(self) -> str:
        compiler, method, returned, expected = self.args
        return f"{compiler}.{method} returned {returned}; it should return {expected}."


class NotStatic(WhorlError, TypeError):
    """An expression cannot be evaluated at compile time.

    `line` is its line, `what` the part that cannot be evaluated, `reason` says why.

    >>> print(NotStatic("solver.py:7", "`open('x')`", "open is not a pure function"))
    solver.py:7: `open('x')` cannot be evaluated at compile time: open is not a pure function.
      Compute it outside and pass the result in as an argument, a member or a global.
    """

    def __init__(self, line: str, what: str, reason: str) -> None:
        super().__init__(line, what, reason)
        self.line = line
        self.what = what
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"{self.line}: {self.what} cannot be evaluated at compile time: {self.reason}.\n"
            "  Compute it outside and pass the result in as an argument, a member or a global."
        )


class KernelError(WhorlError, TypeError):
    """A kernel cannot be compiled: where, what is wrong there, and what to write instead.

    `line` and `column` count from one; `text` is the source line, `width` the number of characters
    to mark; `notes` say where types come from and which calls lead there.

    >>> text = "    total = {}"
    >>> print(KernelError("a dict is not a value of a kernel", "Use arrays.", "f.py", 7, 13, text))
    f.py:7:13: a dict is not a value of a kernel
        total = {}
                ^
      Use arrays.
    """

    def __init__(
        self,
        what: str,
        remedy: str = "",
        file: str = "",
        line: int = 0,
        column: int = 0,
        text: str = "",
        width: int = 1,
        notes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(what, remedy, file, line, column, text, width, notes)
        self.what = what
        self.remedy = remedy
        self.file = file
        self.line = line
        self.column = column
        self.text = text
        self.width = width
        self.notes = notes

    def __str__(self) -> str:
        at = f"{self.file}:{self.line}:{self.column}: " if self.line else ""
        lines = [f"{at}{self.what}"]
        if self.text:
            code = self.text.lstrip()
            before = self.column - 1 - (len(self.text) - len(code))
            lines += [f"    {code.rstrip()}", f"    {' ' * before}{'^' * max(1, self.width)}"]
        lines += [f"  {note}" for note in self.notes]
        if self.remedy:
            lines.append(f"  {self.remedy}")
        return "\n".join(lines)


class UnknownCheckpoint(WhorlError, LookupError):
    """`resume` got a label that the kernel does not have for these arguments.

    `label` is that label, `known` lists the labels of the kernel.

    >>> print(UnknownCheckpoint("solver.step", 7, (0, 1)))
    solver.step has no checkpoint 7 for these arguments.
      It has 0, 1.
    """

    def __init__(self, kernel: str, label: object, known: tuple[object, ...]) -> None:
        super().__init__(kernel, label, known)
        self.kernel = kernel
        self.label = label
        self.known = known

    def __str__(self) -> str:
        if self.label is None:
            what = "cannot be resumed from None: the launch has not yielded"
        else:
            what = f"has no checkpoint {_label(self.label)} for these arguments"
            if hasattr(self.label, "checkpoint"):
                what += "; it is resumed from the .checkpoint of a status"
        names = ", ".join(map(_label, self.known))
        known = f"It has {names}." if names else "All of its checkpoints are in static branches."
        return f"{self.kernel} {what}.\n  {known}"


class NoCheckpoints(WhorlError, TypeError):
    """`resume` was called on a kernel without checkpoints.

    >>> print(NoCheckpoints("solver.step"))
    solver.step has no checkpoints: there is nothing to resume it from.
      Write `with whorl.checkpoint(label, yield_on=flag):` around a part of it, or call it.
    """

    def __init__(self, kernel: str) -> None:
        super().__init__(kernel)
        self.kernel = kernel

    def __str__(self) -> str:
        return (
            f"{self.kernel} has no checkpoints: there is nothing to resume it from.\n"
            "  Write `with whorl.checkpoint(label, yield_on=flag):` around a part of it, "
            "or call it."
        )


def _label(label: object) -> str:
    """A label as its source writes it."""
    name = getattr(label, "name", None)
    return f"{type(label).__qualname__}.{name}" if isinstance(name, str) else repr(label)


# -- tracebacks ------------------------------------------------------------------------
#
# Removes whorl's own frames from the traceback of an error that goes to the user.


_HERE: Final = __file__.rpartition("errors.")[0]


OF_KERNEL: Final = "whorl: a frame of a kernel"
"""A global of the frames that stand for a kernel's own lines."""


def _is_of_kernel(entry: TracebackType | None) -> bool:
    while entry is not None:
        if OF_KERNEL in entry.tb_frame.f_globals:
            return True
        entry = entry.tb_next
    return False


def show_users_frames(error: BaseException) -> None:
    """Leave the user's frames in the traceback of an error of whorl's own, and no others.

    To be called where whorl was called, in an `except` block that ends with a bare `raise`: that
    adds no entry for the frame in which it stands. What a kernel raises counts as such an error.
    Others, which may be whorl's fault or come from code of the user's, keep all of their frames.
    """
    is_own = any(base.__module__ == "whorl.errors" for base in type(error).__mro__)
    if not is_own and not _is_of_kernel(error.__traceback__):
        return
    entries: list[TracebackType] = []
    entry = error.__traceback__
    while entry is not None:
        if not entry.tb_frame.f_code.co_filename.startswith((_HERE, "<whorl")):
            entries.append(entry)
        entry = entry.tb_next
    following: TracebackType | None = None
    for entry in reversed(entries):
        entry.tb_next = following
        following = entry
    error.__traceback__ = following
