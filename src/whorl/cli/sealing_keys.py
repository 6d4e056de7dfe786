"""Makes, shows and trusts the keys that entries of shared caches are sealed with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from whorl import settings
from whorl.remote.keyring import Algorithm, BadKey, Key, Keyring, add_public_key, new_key

from .failures import NAME, CommandFailure, UsageFailure
from .output import Column, print_json, print_line, print_table

_ALGORITHMS = {"ed25519": Algorithm.ED25519, "hmac-sha256": Algorithm.HMAC_SHA256}
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("keys")
def command() -> None:
    """The keys that entries of shared caches are sealed with.

    They are files in WHORL_KEYS_DIR, by default in the user's configuration directory.

    \b
    Example:
      whorl keys new ci
      whorl keys trust ci.pub
      whorl keys show --json
    """  # \b is click's


@command.command("new")
@click.argument("name", type=NAME)
@click.option("--algorithm", type=click.Choice([*_ALGORITHMS]), default="ed25519",
              help="hmac-sha256 is one secret for all: whoever reads can forge.  "
                   "[default: ed25519]")  # fmt: skip
@_JSON
def new(name: str, algorithm: str, as_json: bool) -> None:
    """Make a key to seal with. With ed25519, give others NAME.pub: they can check, not seal.

    \b
    Example:
      whorl keys new ci
    """  # \b is click's
    directory = _directory()
    try:
        key = new_key(directory, name, _ALGORITHMS[algorithm])
    except BadKey as error:
        raise CommandFailure(f"no key is made: {error}.") from None
    if as_json:
        print_json(_plain(key, directory))
        return
    print_line(f"made {directory / f'{name}.key'}; keep it secret")
    if key.public_line() is not None:
        print_line(
            f"made {directory / f'{name}.pub'}; `whorl keys trust {name}.pub` on other machines"
        )


@command.command("show")
@_JSON
@click.pass_context
def show(context: click.Context, as_json: bool) -> None:
    """The keys that are used, and why others are not. No secret is shown.

    \b
    Example:
      whorl keys show
    """  # \b is click's
    ring = Keyring.from_settings(settings.current())
    directory = _directory()
    if as_json:
        keys = [_plain(key, directory) for key in ring.keys.values()]
        print_json({"directory": str(directory), "keys": keys, "problems": list(ring.problems)})
    elif not ring.keys:
        print_line(f"no keys in {directory}")
    else:
        columns = [Column("name"), Column("id"), Column("algorithm"), Column("use")]
        rows = [
            (key.name, key.id.hex(), key.algorithm.title,
             "seals and checks" if key.can_sign else "checks")
            for key in ring.keys.values()
        ]  # fmt: skip
        print_table(columns, rows)
    for problem in ring.problems:
        click.echo(f"whorl: {problem}.", err=True)
    context.exit(1 if ring.problems else 0)


@command.command("trust")
@click.argument("file", type=NAME)
@click.option("--name", type=NAME, help="What to call it.  [default: the name of the file]")
@_JSON
def trust(file: str, name: str | None, as_json: bool) -> None:
    """Use what the holder of a key has sealed. FILE is a NAME.pub, a key file, or - to read one.

    \b
    Example:
      whorl keys trust ci.pub
    """  # \b is click's
    if file == "-":
        text = sys.stdin.readline()
        if name is None:
            raise UsageFailure("a key that is read from the standard input needs a --name.")
    else:
        try:
            text = Path(file).read_text(encoding="ascii", errors="replace")[:1024]
        except OSError as error:
            raise UsageFailure(f"{file} cannot be read: {error.strerror}.") from None
    directory = _directory()
    try:
        key = add_public_key(directory, name or Path(file).stem, text.strip())
    except BadKey as error:
        raise CommandFailure(f"the key is not trusted: {error}.") from None
    if as_json:
        print_json(_plain(key, directory))
    else:
        print_line(
            f"what {key.name} ({key.algorithm.title}, {key.id.hex()}) has sealed is used now"
        )


def _directory() -> Path:
    return settings.current().keys_dir.value


def _plain(key: Key, directory: Path) -> dict[str, Any]:
    return {
        "name": key.name, "id": key.id.hex(), "algorithm": key.algorithm.title,
        "can_seal": key.can_sign, "public": key.public_line(), "directory": str(directory),
    }  # fmt: skip
