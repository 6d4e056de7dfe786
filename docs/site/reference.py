"""Generates the pages of the reference, as Markdown, from the public names of whorl.

There is a page for each package of whorl. It has the names that `whorl` itself exports from this
package, and the further names that the package exports. mkdocstrings replaces a line that begins
with `:::` by the docstring of a name. New names appear by themselves. `MEMBERS` lists the public
members of those classes that also have members for other packages of whorl.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import inspect
import json
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass

import whorl
from whorl import settings

__all__ = ["Name", "Page", "pages"]

# In the order of the manual. Other packages come after these.
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
PAGE_OF = {"launch": "graph"}  # packages whose names are on the page of another
WITH_NAMES_OF_THEIR_OWN = ("jit", "reads", "artifacts", "store", "testing", "steps")

# The public members of a class, own and inherited. A class without a row shows all of its own.
MEMBERS = {
    "whorl.Kernel": ("explain", "specializations", "stats", "with_options"),
    "whorl.NumericKernel": (
        "explain", "inspect", "interpret", "interpret_resumed", "resume", "specializations",
        "stats", "with_options",
    ),
    "whorl.Inputs": (
        "arg", "env", "everything", "file", "function", "glob", "names", "option", "target",
        "target_names",
    ),
    "whorl.reads.Recorder": ("trace", "view"),
    "whorl.Boundary": (),
    "whorl.FieldRule": (),
    "whorl.artifacts.Damaged": (),
    "whorl.artifacts.Entry": ("label", "build", "payload", "payloads", "record", "seconds"),
    "whorl.store.Cache": ("get", "obtain", "once", "put"),
    "whorl.store.DirectoryStore": (
        "collect", "get", "groups", "iterate", "path", "put", "remove", "root",
    ),
    "whorl.store.Statistics": ("flush", "totals"),
    "whorl.store.Totals": ("by_day", "hit_rate", "hits", "in_file", "misses", "of"),
    "whorl.testing.Report": (),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Name:
    """A public name: how it is imported, where it is defined, and its value."""

    public: str
    place: str
    value: object

    @property
    def is_number(self) -> bool:
        """Whether it is another name of a NumPy type."""
        return getattr(self.value, "__module__", "") == "numpy"


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its path in the manual, its title, its text."""

    path: str
    title: str
    text: str


def pages() -> list[Page]:
    """Every page of the reference, in order."""
    return [*_packages(), _settings_page(), *_command_pages()]


def names() -> dict[str, list[Name]]:
    """The public names, by package."""
    listed: dict[str, list[Name]] = {title: [] for title in TITLES}
    for name in whorl.__all__:
        value = getattr(whorl, name)
        place = _place(name, value)
        package = place.split(".")[1]
        page = PAGE_OF.get(package, package)
        listed.setdefault(page, []).append(Name(f"whorl.{name}", place, value))
    del listed["settings"]  # a page of its own
    for package in WITH_NAMES_OF_THEIR_OWN:
        if importlib.util.find_spec(f"whorl.{package}") is None:
            continue
        module = importlib.import_module(f"whorl.{package}")
        known = {each.public.rpartition(".")[2] for each in listed[package]}
        for name in getattr(module, "__all__", ()):
            if name not in known and not hasattr(whorl, name):
                public = f"whorl.{package}.{name}"
                value = getattr(module, name)
                listed[package].append(Name(public, _written(module, name, value), value))
    return {package: names for package, names in listed.items() if names}


def _place(name: str, value: object) -> str:
    """Where a name that `whorl` exports is defined."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    package = _imports(whorl).get(name)
    if package is None:
        raise LookupError(f"whorl.{name} is not imported from a package of whorl")
    return _written(importlib.import_module(package), name, value)


def _written(package: types.ModuleType, name: str, value: object) -> str:
    """The full name of an exported object: its module and its own name."""
    home = getattr(value, "__module__", None)
    if isinstance(home, str) and home.startswith("whorl.") and hasattr(value, "__qualname__"):
        return f"{home}.{value.__qualname__}"
    return f"{_imports(package).get(name, package.__name__)}.{name}"


@functools.cache
def _imports(package: types.ModuleType) -> dict[str, str]:
    """The names that a package imports, each with its module."""
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
        is_module = isinstance(listed[0].value, types.ModuleType)  # it has its own docstring
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
    if isinstance(name.value, str | int):  # a constant is shown with its value
        return f"## {name.public}\n\n`{name.value!r}`"
    if isinstance(name.value, types.ModuleType):
        return f"::: {name.place}\n    options:\n      show_root_full_path: true"
    lines = [f"::: {name.place}", "    options:", f"      heading: {name.public}"]
    lines.append(f"      toc_label: {name.public}")
    members = MEMBERS.get(name.public)
    if members is not None:
        lines.append(f"      members: {json.dumps(members)}" if members else "      members: false")
        lines.append(f"      inherited_members: {'true' if members else 'false'}")
    return "\n".join(lines)


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
        "`whorl.configure` overrides the environment, which overrides the defaults. An empty "
        "variable counts as not set.",
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
    """The `--help` text of each command."""
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
