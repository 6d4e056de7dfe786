"""Writes kernels as functions of C, for `whorl export --c`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from whorl import settings
from whorl.errors import BadSetting
from whorl.launch.level import check_level, host_level

from .failures import CommandFailure, UsageFailure
from .output import print_json


def export_for_c(
    base: Path,
    kernels: tuple[str, ...],
    target: str | None,
    *,
    force: bool,
    is_asked: bool,
    as_json: bool,
) -> None:
    """Compile kernels for types, and write the header and the shared library."""
    from whorl.shipping.c_library import NotForC, c_function, write_library

    if not is_asked:
        raise UsageFailure("--kernel and --target are for --c.")
    if not kernels:
        raise UsageFailure("--c needs a kernel: --kernel 'solver:step(f64[:, ::1], i64)'.")
    try:
        level = check_level(target) if target else host_level()
    except BadSetting as error:
        raise UsageFailure(str(error)) from None
    for path in (base.with_name(f"{base.name}.h"), base.with_name(f"lib{base.name}.so")):
        if path.exists() and not force:
            raise UsageFailure(f"{path} exists already; --force replaces it.")
    before = settings.current()
    sys.path.insert(0, str(Path.cwd()))  # as `python -m` finds modules
    try:
        settings.configure(cache="off", interpret=False, require_hit=False, debug=False)
        functions = [c_function(each, level) for each in kernels]
        names = [each.name for each in functions]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise UsageFailure(f"two functions are called {twice[0]}; name one: '... as other'.")
        header, library = write_library(functions, base)
    except NotForC as error:
        raise CommandFailure(f"{error}.") from None
    finally:
        settings.restore(before)
        sys.path.remove(str(Path.cwd()))
    if as_json:
        print_json({"header": str(header), "library": str(library), "functions": names})
    else:
        click.echo(f"wrote {header} and {library}: {', '.join(names)}")
