"""Finds the cache directory that a command line or the settings name, and opens its store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from whorl import settings
from whorl.errors import BadSetting
from whorl.store import DirectoryStore

from .failures import CommandFailure, UsageFailure
from .units import printable

_OPTION: Final = "--cache-dir"


def cache_dir_setting(cache_dir: str | None) -> settings.Setting[Path]:
    """The cache directory: from an option of the command, of `whorl`, or from the settings."""
    context = click.get_current_context(silent=True)
    if cache_dir is None and context is not None:
        cache_dir = context.find_root().obj
    if cache_dir is None:
        return settings.current().cache_dir
    try:
        option = settings.Settings.from_environment({"WHORL_CACHE_DIR": cache_dir})
    except BadSetting as error:
        message = f"{_OPTION} is {error.value!r}; it should be {error.expected}."
        raise UsageFailure(message) from None
    return settings.Setting(option.cache_dir.value, _OPTION)


def cache_root(cache_dir: str | None) -> Path:
    """The cache directory as a path; `UsageFailure` if a file is in its place."""
    root, origin = cache_dir_setting(cache_dir)
    if settings.is_in_the_way(root):
        name = _OPTION if origin == _OPTION else "WHORL_CACHE_DIR"
        raise UsageFailure(f"{name} is {str(root)!r}; it should be {settings.IN_THE_WAY}.")
    return root


def open_store(cache_dir: str | None, *, for_writing: bool = False) -> DirectoryStore:
    """Open the store. Without `for_writing` it is read-only."""
    root = cache_root(cache_dir)
    if root.is_dir() and not os.access(root, os.R_OK | os.X_OK):
        raise CommandFailure(f"{root} cannot be read: permission denied.")
    if for_writing and settings.current().cache.value == "readonly":
        raise CommandFailure("WHORL_CACHE is readonly: nothing is changed; use --dry-run.")
    max_size = settings.current().cache_max_size.value
    return DirectoryStore(root, max_size=max_size, read_only=not for_writing)


def report_missing_cache(store: DirectoryStore) -> bool:
    """Whether the cache directory is missing; if so, print that to the standard error."""
    if store.root.is_dir():
        return False
    click.echo(printable(f"whorl: there is no cache in {store.root} yet."), err=True)
    return True
