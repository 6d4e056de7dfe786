"""What a command line says about the directory in, the store there out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from whorl import settings
from whorl.errors import BadSetting
from whorl.store import DirectoryStore

from .refusal import Refusal, Trouble
from .words import printable

__all__ = ["cache_place", "cache_root", "opened", "said_to_be_empty"]

_OPTION: Final = "--cache-dir"


def cache_place(cache_dir: str | None) -> settings.Setting[Path]:
    """The directory that is meant: by an option of the command, of `whorl`, or by the settings."""
    context = click.get_current_context(silent=True)
    if cache_dir is None and context is not None:
        cache_dir = context.find_root().obj
    if cache_dir is None:
        return settings.current().cache_dir
    try:
        found = settings.Settings.from_environment({"WHORL_CACHE_DIR": cache_dir})
    except BadSetting as error:
        raise Refusal(f"{_OPTION} is {error.value!r}; it should be {error.wanted}.") from None
    return settings.Setting(found.cache_dir.value, _OPTION)


def cache_root(cache_dir: str | None) -> Path:
    """The same as a path, at which there is no file."""
    root, origin = cache_place(cache_dir)
    if settings.is_in_the_way(root):
        said = _OPTION if origin == _OPTION else "WHORL_CACHE_DIR"
        raise Refusal(f"{said} is {str(root)!r}; it should be {settings.IN_THE_WAY}.")
    return root


def opened(cache_dir: str | None, *, for_writing: bool = False) -> DirectoryStore:
    """The store that is meant. Without `for_writing` it is not changed by being looked at."""
    root = cache_root(cache_dir)
    if root.is_dir() and not os.access(root, os.R_OK | os.X_OK):
        raise Trouble(f"{root} cannot be read: permission denied.")
    if for_writing and settings.current().cache.value == "readonly":
        raise Trouble("WHORL_CACHE is readonly: nothing is changed; --dry-run only looks.")
    max_size = settings.current().cache_max_size.value
    return DirectoryStore(root, max_size=max_size, read_only=not for_writing)


def said_to_be_empty(store: DirectoryStore) -> bool:
    """Whether there is no cache at all; if so that is said on the standard error."""
    if store.root.is_dir():
        return False
    click.echo(printable(f"whorl: there is no cache in {store.root} yet."), err=True)
    return True
