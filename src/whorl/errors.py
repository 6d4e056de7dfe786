"""Every exception of whorl's own: where it happened, what was found, what to do next.

Misuse of an argument is a plain `TypeError` or `ValueError`. Each error here holds the same
as data that its message says in words, so that a program can act on what a person reads.
"""

from __future__ import annotations

__all__ = [
    "BadSetting",
    "CompilerFailed",
    "Drifted",
    "KernelError",
    "NoCheckpoints",
    "NotStatic",
    "RequiredHit",
    "UnknownCheckpoint",
    "UnsafeDirectory",
    "UnsupportedFunction",
    "UnsupportedRead",
    "UnsupportedValue",
    "WhorlError",
]


class WhorlError(Exception):
    """The base of every exception of whorl's own.

    >>> issubclass(UnsupportedValue, WhorlError)
    True
    """


class UnsupportedValue(WhorlError, TypeError):
    """A value that has no fingerprint, because what it is cannot be known exactly.

    `path` leads from the value to the part, as Python would write it; `type_name` is what
    the part is; `reason` says why that has no fingerprint, `remedy` what to do.

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

    def __str__(self) -> str:
        return (
            f"{self.path} is of type '{self.type_name}', which has no fingerprint: {self.reason}.\n"
            f"  {self.remedy}"
        )


class BadSetting(WhorlError, ValueError):
    """An option of whorl's own that has a value it cannot have.

    `name` is the environment variable or argument it came from.

    >>> import whorl
    >>> try:
    ...     whorl.configure(cache_max_size="5 bananas")
    ... except BadSetting as error:
    ...     print(error.name, "|", error.value)
    cache_max_size | 5 bananas
    """

    def __init__(self, name: str, value: object, wanted: str) -> None:
        super().__init__(name, value, wanted)
        self.name = name
        self.value = value
        self.wanted = wanted

    def __str__(self) -> str:
        return f"{self.name} is {self.value!r}; it should be {self.wanted}."


class UnsafeDirectory(WhorlError):
    """A cache directory that another user could have written to: its code is not loaded.

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
    """A compile looked at something that cannot be recorded exactly.

    `path` says what it looked at, `type_name` what is there, `line` which line of the compiler
    or of its program asked.

    >>> error = UnsupportedRead("arg:self.uid", "uuid.UUID", "it has no signature", "solver.py:41")
    >>> print(error)
    arg:self.uid is a 'uuid.UUID' that cannot be recorded: it has no signature.
      read at solver.py:41
      Pass what counts of it as an argument (a number, a text, an array), or keep what is made of
      it in this process only: cache="process".
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
            "Pass what counts of it as an argument (a number, a text, an array), or keep what is "
            'made of\n  it in this process only: cache="process".'
        )

    def __str__(self) -> str:
        at = f"\n  read at {self.line}" if self.line else ""
        what = f"{self.path} is a '{self.type_name}' that cannot be recorded: {self.reason}."
        return f"{what}{at}\n  {self.remedy}"


class UnsupportedFunction(WhorlError, TypeError):
    """A function whose results cannot be kept, because what it reads cannot be known exactly.

    `function` is its name; `path` says what it reads, through which calls; `type_name` is what
    that is; `reason` says why it cannot be known, `remedy` what to do.

    >>> remedy = "Leave it out with whorl.cached(ignores=['LOCK'])."
    >>> print(UnsupportedFunction("app.solve", "LOCK", "lock", "it is a lock", remedy))
    The results of app.solve cannot be kept: it reads LOCK, of type 'lock', and it is a lock.
      Leave it out with whorl.cached(ignores=['LOCK']).
    """

    def __init__(self, function: str, path: str, type_name: str, reason: str, remedy: str) -> None:
        super().__init__(function, path, type_name, reason, remedy)
        self.function = function
        self.path = path
        self.type_name = type_name
        self.reason = reason
        self.remedy = remedy

    def __str__(self) -> str:
        if self.type_name == "function":  # the reason says which, and what it does
            through = f" (reached through {self.path})" if "->" in self.path else ""
            what = f"{self.reason}{through}"
        else:
            what = f"it reads {self.path}, of type '{self.type_name}', and {self.reason}"
        return f"The results of {self.function} cannot be kept: {what}.\n  {self.remedy}"


class Drifted(WhorlError, RuntimeError):
    """Something that code or a result was made from has changed, and `on_drift` is "raise".

    `changes` are what has: a path, the old and the new fact, each in words.

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
        made: str = "was compiled from",
        remedy: str = 'Restore it, or let the kernel follow with on_drift="recompile".',
    ) -> None:
        super().__init__(kernel, changes)
        self.kernel = kernel
        self.changes = changes
        self.made = made
        self.remedy = remedy

    def __str__(self) -> str:
        lines = "".join(f"\n  {path}: {old} -> {new}" for path, old, new in self.changes)
        return f"What {self.kernel} {self.made} has changed:{lines}\n  {self.remedy}"


class RequiredHit(WhorlError, LookupError):
    """Something would have to be made where only what is kept may be used.

    `name` is what was asked for, `why` the explanation of the miss, in words.

    >>> print(RequiredHit("solver.step", "solver.step: miss, first compile"))
    solver.step is not in the cache, and WHORL_REQUIRE_HIT forbids making it.
      solver.step: miss, first compile
      Fill the cache first (whorl warm SCRIPT, whorl import BUNDLE), or allow compiles with
      WHORL_REQUIRE_HIT=0.
    """

    def __init__(self, name: str, why: str) -> None:
        super().__init__(name, why)
        self.name = name
        self.why = why

    def __str__(self) -> str:
        why = "\n  ".join(self.why.splitlines())
        return (
            f"{self.name} is not in the cache, and WHORL_REQUIRE_HIT forbids making it.\n  {why}\n"
            "  Fill the cache first (whorl warm SCRIPT, whorl import BUNDLE), or allow compiles "
            "with\n  WHORL_REQUIRE_HIT=0."
        )


class CompilerFailed(WhorlError, TypeError):
    """A compiler returned something that it should not.

    >>> print(CompilerFailed("mydsl", "compile", "None", "a whorl.Artifact"))
    mydsl.compile returned None; it should return a whorl.Artifact.
    """

    def __init__(self, compiler: str, method: str, returned: str, wanted: str) -> None:
        super().__init__(compiler, method, returned, wanted)
        self.compiler = compiler

    def __str__(self) -> str:
        compiler, method, returned, wanted = self.args
        return f"{compiler}.{method} returned {returned}; it should return {wanted}."


class NotStatic(WhorlError, TypeError):
    """An expression that should be known at compile time, and cannot be followed.

    `line` is where it stands, `what` the part that cannot be followed.

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
    """A kernel that cannot be compiled: where, what is wrong there, and what to write instead.

    `line` and `column` count from one; `text` is the source line, `width` how much of it is
    meant; `notes` say where types came from and which calls led there.

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
    """A launch was to be resumed from a label that the kernel does not have for these arguments.

    `label` is what was asked for, `known` the labels that there are.

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
    """A kernel was to be resumed that has no checkpoints.

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
    """A label as its source names it."""
    name = getattr(label, "name", None)
    return f"{type(label).__qualname__}.{name}" if isinstance(name, str) else repr(label)
