"""Tries out shared caches, and moves entries between one and this machine."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from typing import Any, Final

import click

from whorl import settings
from whorl.artifacts import Entry, Label
from whorl.fast_dataclasses import dataclass
from whorl.fingerprint.digest import StableDigest
from whorl.remote.address import Address
from whorl.remote.engine import Engine, EngineTrouble
from whorl.remote.far_store import FarStore
from whorl.remote.keyring import BadKey, Keyring
from whorl.remote.server import Resting
from whorl.remote.tiers import store_of
from whorl.store import Absent, DirectoryStore, Failed, Found, Stored
from whorl.store.catalogue import Listed, catalogue
from whorl.store.listing import Name

from . import units
from .cache_directory import open_store
from .failures import NAME, CommandFailure, UsageFailure
from .output import (
    common_options,
    print_facts,
    print_heading,
    print_json,
    print_line,
    progress,
    silence_logger,
)
from .selection import matches_program

_ORDER: Final = {"manifest": 1, "hint": 2}  # after what they lead to
_QUICK: Final = "source"
_PROBES: Final = 5
_CLOCK: Final = 5.0  # seconds by which clocks may differ
_SECONDS: Final = 60.0  # for uploads
_AT_ONCE: Final = 32  # entries in the queue


@click.group("remote")
def command() -> None:
    """Shared caches: those of WHORL_REMOTE, or a URL.

    \b
    Example:
      whorl remote check --json
      whorl remote push
      whorl remote pull redis://host:6379/0
    """  # \b is click's


@dataclass(frozen=True, slots=True)
class Probe:
    """What was found out about a shared cache."""

    url: str
    problem: str = ""
    milliseconds: float = 0.0
    round_trip: str = ""
    leases: str = ""
    clock: str = ""

    def as_plain(self) -> dict[str, Any]:
        """The same as what JSON has."""
        return {
            "url": self.url, "problem": self.problem or None, "milliseconds": self.milliseconds,
            "round_trip": self.round_trip, "leases": self.leases, "clock": self.clock,
        }  # fmt: skip


@command.command("check")
@click.argument("urls", nargs=-1)
@common_options
@click.pass_context
def check(
    context: click.Context, urls: tuple[str, ...], as_json: bool, cache_dir: str | None
) -> None:
    """Round trip, latency, leases and clock of each shared cache. Exit code 1 if one is broken.

    \b
    Example:
      whorl remote check
    """  # \b is click's
    probes = [_probed(address) for address in _addresses(urls)]
    if as_json:
        print_json([probe.as_plain() for probe in probes])
    else:
        for probe in probes:
            print_heading(probe.url)
            if probe.problem:
                print_facts([("BROKEN", probe.problem)], "  ")
            else:
                print_facts(
                    [
                        ("latency", f"{probe.milliseconds:.1f} ms"),
                        ("round trip", probe.round_trip),
                        ("leases", probe.leases),
                        ("clock", probe.clock),
                    ],
                    "  ",
                )
    context.exit(1 if any(probe.problem for probe in probes) else 0)


def _probed(address: Address) -> Probe:
    """Put an entry, get it, remove it."""
    url = str(address.url)
    try:
        with silence_logger("whorl.remote"):
            store = store_of(address, Keyring.from_settings(settings.current()))
            times = []
            for _ in range(_PROBES):
                start = time.perf_counter()
                got = store.get(StableDigest(os.urandom(16).hex()))
                times.append(time.perf_counter() - start)
                if isinstance(got, Failed):
                    return Probe(url, got.reason)
            trip = _round_trip(store)
            return Probe(
                url, trip if trip.startswith("failed") else "", statistics.median(times) * 1000,
                trip, _leases(store), _clock(store),
            )  # fmt: skip
    except BadKey as error:
        return Probe(url, str(error))


def _round_trip(store: FarStore) -> str:
    if store.why_not_written is not None:
        return f"not tried: {store.why_not_written}"
    entry = Entry.build(
        Label("probe", StableDigest(os.urandom(16).hex())), {"probe": os.urandom(1000)}, None
    )
    start = time.perf_counter()
    store.put(entry)
    store.flush()
    got = store.get(entry.key)
    seconds = time.perf_counter() - start
    store.remove(entry.key)
    if isinstance(got, Found) and bytes(got.entry.data) == bytes(entry.data):
        return f"stored, found and removed in {seconds * 1000:.1f} ms"
    return f"failed: {got.reason if isinstance(got, Failed) else 'what was stored is not found'}"


def _leases(store: FarStore) -> str:
    if store.leases is None:
        return "none: machines may repeat each other's work"
    token, name = f"check/{os.getpid()}", f"leases/check-{os.urandom(4).hex()}"

    def take(engine: Engine) -> str | None:
        first = engine.take(name, token, 5.0)
        second = engine.take(name, "another", 5.0)
        engine.release(name, token)
        return first or ("" if second is None else None)

    held = store.server.ask("take", take)
    if isinstance(held, EngineTrouble | Resting):
        return f"none: {held}"
    return "yes" if held is None else "none: two got the same lease"


def _clock(store: FarStore) -> str:
    before = time.time()
    there = store.server.ask("clock", lambda engine: engine.clock())
    if there is None or isinstance(there, EngineTrouble | Resting):
        return "not known"
    apart = there - (before + time.time()) / 2
    text = (
        "as here"
        if abs(apart) < 1.5
        else f"{abs(apart):.0f} s {'ahead' if apart > 0 else 'behind'}"
    )
    return text if abs(apart) < _CLOCK else f"{text}: ttl is off by that much"


@command.command("push")
@click.argument("urls", nargs=-1)
@click.option("--program", type=NAME, help="Of this program only, with all that leads to it.")
@common_options
@click.pass_context
def push(
    context: click.Context,
    urls: tuple[str, ...],
    program: str | None,
    as_json: bool,
    cache_dir: str | None,
) -> None:
    """Upload what this machine has. Exit code 1 if something could not be uploaded.

    \b
    Example:
      whorl remote push
    """  # \b is click's
    near = open_store(cache_dir)
    rows = [
        row
        for row in catalogue(near)
        if row.kind != _QUICK
        and not row.trouble
        and (program is None or row.is_bookkeeping or matches_program(row.program, program))
    ]
    rows.sort(key=lambda row: _ORDER.get(row.kind, 0))
    results = [_pushed(store, near, rows) for store in _stores(urls, for_writing=True)]
    _print_moved("uploaded", results, as_json=as_json)
    context.exit(1 if any(moved.failed for moved in results) else 0)


@dataclass(frozen=True, slots=True)
class Moved:
    """How many entries were moved, and how many could not be."""

    url: str
    number: int = 0
    failed: int = 0


def _pushed(store: FarStore, near: DirectoryStore, rows: list[Listed]) -> Moved:
    failed = 0
    with progress("uploading", len(rows)) as advance:
        for row in rows:
            got = near.get(row.name.key, row.name.under)
            if isinstance(got, Found):
                if len(store.queue) >= _AT_ONCE:
                    store.flush(_SECONDS)
                failed += not isinstance(store.put(got.entry), Stored)
            else:
                failed += 1
            advance(1)
        if not store.flush(_SECONDS):
            store.queue.drop()
    dropped = store.dropped
    return Moved(str(store.address.url), len(rows) - failed - dropped, failed + dropped)


@command.command("pull")
@click.argument("urls", nargs=-1)
@common_options
@click.pass_context
def pull(
    context: click.Context, urls: tuple[str, ...], as_json: bool, cache_dir: str | None
) -> None:
    """Download what shared caches have, checked. Exit code 1 if something could not be kept.

    \b
    Example:
      whorl remote pull
    """  # \b is click's
    near = open_store(cache_dir, for_writing=True)
    results = []
    for store in _stores(urls):
        number = failed = 0
        for place in _places(store):
            got = store.get(place.key, place.under)
            if isinstance(got, Found):
                is_kept = isinstance(near.put(got.entry), Stored)
                number, failed = number + is_kept, failed + (not is_kept)
            elif not isinstance(got, Absent) or store.server.reading.is_open:
                failed += 1
        results.append(Moved(str(store.address.url), number, failed))
    _print_moved("downloaded", results, as_json=as_json)
    context.exit(1 if any(moved.failed for moved in results) else 0)


@command.command("ls")
@click.argument("urls", nargs=-1)
@common_options
def ls(urls: tuple[str, ...], as_json: bool, cache_dir: str | None) -> None:
    """The keys of the entries in shared caches that can list them.

    \b
    Example:
      whorl remote ls
    """  # \b is click's
    found: dict[str, list[tuple[str, str | None]]] = {}
    for store in _stores(urls):
        places = [
            (str(place.key), None if place.under is None else str(place.under))
            for place in _places(store)
        ]
        found[str(store.address.url)] = sorted(places, key=lambda place: (place[1] or "", place[0]))
    if as_json:
        print_json(
            {url: [{"key": key, "group": under} for key, under in ps] for url, ps in found.items()}
        )
        return
    for url, places in found.items():
        print_heading(f"{url}: {units.entries(len(places))}")
        for key, under in places:
            print_line(f"  {key if under is None else f'{under}/{key}'}")


def _places(store: FarStore) -> Iterator[Name]:
    try:
        engine = store.server.ask("list", lambda engine: engine.can_list)
        if engine is False:
            raise UsageFailure(
                f"{store.address.url} cannot list its entries: this engine has no listing."
            )
        yield from store.places()
    except EngineTrouble as trouble:
        raise CommandFailure(f"{store.address.url} cannot be listed: {trouble}.") from None


def _addresses(urls: tuple[str, ...]) -> list[Address]:
    remote, origin = settings.current().remote
    addresses = [Address.parse(url, "the URL") for url in urls] or [
        Address.parse(url, origin) for url in remote
    ]
    if not addresses:
        raise UsageFailure("there is no shared cache: name a URL, or set WHORL_REMOTE.")
    return addresses


def _stores(urls: tuple[str, ...], *, for_writing: bool = False) -> Iterator[FarStore]:
    keys = Keyring.from_settings(settings.current())
    for address in _addresses(urls):
        try:
            store = store_of(address, keys)
        except BadKey as error:
            raise CommandFailure(f"{error}.") from None
        reason = store.why_not_written
        if for_writing and reason is not None:
            raise CommandFailure(f"nothing is uploaded to {address.url}: {reason}.")
        yield store


def _print_moved(verb: str, results: list[Moved], *, as_json: bool) -> None:
    if as_json:
        print_json([{"url": m.url, verb: m.number, "failed": m.failed} for m in results])
        return
    for moved in results:
        failed = f", {moved.failed} failed" if moved.failed else ""
        print_line(f"{moved.url}: {units.entries(moved.number)} {verb}{failed}")
