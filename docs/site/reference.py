"""The public names of whorl in, the pages of the reference out, as Markdown.

A page belongs to a package of whorl, and holds the names that `whorl` itself offers from there and
those that the package offers beside them. What is said about a name is its docstring; a line
that begins with `:::` has it put there. Names that are new appear without being listed here.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import inspect
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass

import whorl
from whorl import settings

__all__ = ["Name", "Page", "pages"]

# In the order of the manual. Whatever else `whorl` offers comes after these.
TITLES = {
    "kernels": "Kernels",
    "graph": "Loops and checkpoints",
    "steps": "Cached functions",
    "jit": "Compilers",
    "reads": "Reads",
    "fingerprint": "Fingerprints",
    "artifacts": "Artifacts",
    "store": "The store",
    "testing": "Testing",
    "errors": "Errors",
}
WITH_NAMES_OF_THEIR_OWN = ("jit", "reads", "artifacts", "store", "testing", "steps")


@dataclass(frozen=True, slots=True)
class Name:
    """A public name: as it is imported, where it is written, and what it stands for."""

    public: str
    place: str
    value: object

    @property
    def is_number(self) -> bool:
        """Whether it is a type of NumPy's under another name."""
        return getattr(self.value, "__module__", "") == "numpy"


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its place in the manual, its title, its text."""

    path: str
    title: str
    text: str


def pages() -> list[Page]:
    """Every page of the reference, in order."""
    return [*_packages(), _settings_page(), *_command_pages()]


def names() -> dict[str, list[Name]]:
    """The public names by the package that they are from."""
    found: dict[str, list[Name]] = {title: [] for title in TITLES}
    for name in whorl.__all__:
        value = getattr(whorl, name)
        place = _place(name, value)
        found.setdefault(place.split(".")[1], []).append(Name(f"whorl.{name}", place, value))
    del found["settings"]  # a page of its own
    for package in WITH_NAMES_OF_THEIR_OWN:
        if importlib.util.find_spec(f"whorl.{package}") is None:
            continue
        module = importlib.import_module(f"whorl.{package}")
        known = {each.public.rpartition(".")[2] for each in found[package]}
        for name in getattr(module, "__all__", ()):
            if name not in known and not hasattr(whorl, name):
                public = f"whorl.{package}.{name}"
                value = getattr(module, name)
                found[package].append(Name(public, _written(module, name, value), value))
    return {package: listed for package, listed in found.items() if listed}


def _place(name: str, value: object) -> str:
    """Where a name that `whorl` offers is written."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    package = _imports(whorl).get(name)
    if package is None:
        raise LookupError(f"whorl.{name} is not imported from a package of whorl")
    return _written(importlib.import_module(package), name, value)


def _written(package: types.ModuleType, name: str, value: object) -> str:
    """The full name of what a package offers: that of its module, and its own."""
    home = getattr(value, "__module__", None)
    if isinstance(home, str) and home.startswith("whorl.") and hasattr(value, "__qualname__"):
        return f"{home}.{value.__qualname__}"
    return f"{_imports(package).get(name, package.__name__)}.{name}"


@functools.cache
def _imports(package: types.ModuleType) -> dict[str, str]:
    """The names that a package's front imports, each with the module it is from."""
    found = {}
    for node in ast.walk(ast.parse(inspect.getsource(package))):
        if isinstance(node, ast.ImportFrom):
            module = f"{package.__name__}.{node.module}" if node.level else str(node.module)
            found.update({alias.asname or alias.name: module for alias in node.names})
    return found


# -- pages -------------------------------------------------------------------------------------


def _packages() -> Iterator[Page]:
    for package, listed in names().items():
        title = TITLES.get(package, package.capitalize())
        listed = sorted(listed, key=lambda name: (name.public.count("."), name.public.lower()))
        is_module = isinstance(listed[0].value, types.ModuleType)  # which says by itself what it is
        about = "" if is_module else _about(package)
        parts = [f"# {title}", about, *map(_entry, listed), _numbers(listed)]
        yield Page(f"reference/{package}.md", title, "\n\n".join(filter(None, parts)) + "\n")


def _about(package: str) -> str:
    try:
        about = importlib.import_module(f"whorl.{package}").__doc__ or ""
    except ModuleNotFoundError:
        return ""
    return about.strip().split("\n\n")[0]


def _entry(name: Name) -> str:
    if name.is_number:
        return ""
    if isinstance(name.value, str | int):  # a constant: what it is stands beside it
        return f"## {name.public}\n\n`{name.value!r}`"
    if isinstance(name.value, types.ModuleType):
        return f"::: {name.place}\n    options:\n      show_root_full_path: true"
    return (
        f"::: {name.place}\n    options:\n"
        f"      heading: {name.public}\n      toc_label: {name.public}"
    )


def _numbers(listed: list[Name]) -> str:
    rows = [f"| `{n.public}` | `numpy.{n.value.__name__}` |" for n in listed if n.is_number]  # type: ignore[attr-defined]  # types of NumPy have names
    if not rows:
        return ""
    return "\n".join(["## Types of numbers", "", "| name | what it is |", "|---|---|", *rows])


_ELSEWHERE = {
    "cache_dir": "the user's cache directory",
    "threads": "the processors that this process may use",
}


def _settings_page() -> Page:
    about = dict(re.findall(r"^    (WHORL_\w+) +(.+)$", settings.__doc__ or "", re.M))
    rows = []
    for option, (variable, usual) in settings.OPTIONS.items():
        default = _ELSEWHERE.get(option) or f"`{usual}`"
        if default == "``":
            default = ""
        values = about.pop(variable, "").replace("|", r"\|")
        rows.append(f"| `{variable}` | `{option}` | {values} | {default} |")
    text = [
        "# Settings",
        "What `whorl.configure` says wins over the environment, which wins over the defaults. A "
        "variable that is set to nothing counts as not set.",
        "\n".join(
            [
                "| variable | argument of `whorl.configure` | values | default |",
                "|---|---|---|---|",
                *rows,
            ]
        ),
        *(
            _entry(Name(f"whorl.{name}", f"whorl.settings.{name}", getattr(settings, name)))
            for name in ("configure", "Settings", "Setting")
        ),
    ]
    return Page("reference/settings.md", "Settings", "\n\n".join(text) + "\n")


def _command_pages() -> Iterator[Page]:
    """What each command says with `--help`, where there is a command line."""
    if importlib.util.find_spec("whorl.cli") is None:
        return
    click = importlib.import_module("click")
    group = importlib.import_module("whorl.cli.command").whorl
    parts = ["# The command line", _help(click, group, "whorl", None)]
    context = click.Context(group, info_name="whorl")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        parts += [f"## whorl {name}", _help(click, command, name, context)]
    yield Page("reference/command_line.md", "The command line", "\n\n".join(parts) + "\n")


def _help(click: types.ModuleType, command: object, name: str, parent: object) -> str:
    context = click.Context(command, info_name=name, parent=parent, max_content_width=100)
    return f"```text\n{context.get_help()}\n```"
