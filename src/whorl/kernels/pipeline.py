"""Compiles a kernel from the views of a call: lowering, passes, LLVM, linking."""

from __future__ import annotations

import sys
import types
import zlib
from functools import partial

from whorl.artifacts import Artifact
from whorl.errors import KernelError
from whorl.fingerprint.source import place_of_code
from whorl.launch import Unlinkable, link
from whorl.launch.launch_record import ABI
from whorl.launch.level import fuses
from whorl.launch.machine import machine_code
from whorl.reads import Inputs
from whorl.reads.trace import Path, Plain
from whorl.settings import current

from . import ir
from .emit import emit
from .emit.result_arrays import new_results
from .ir_text import text_of
from .ir_walk import statements_of
from .lowering import lower
from .passes import run_passes
from .types import ArrayType, Scalar

__all__ = ["compiled"]


def compiled(inputs: Inputs, *, nogil: bool, parallel: bool, fastmath: tuple[str, ...]) -> Artifact:
    """The artifact of the function that is compiled."""
    level, debug = inputs.target("cpu"), inputs.target("debug")
    lowered = lower(inputs, debug=debug, parallel=parallel)
    function = lowered.function
    function.fastmath = fastmath
    try:
        run_passes(function, partial(_dump, current().dump.value))
        emitted, shown = emit(function, fuses=fuses(level)), text_of(function)
    except RecursionError:
        raise _too_deep(inputs.function().function) from None
    statements = list(statements_of(function))
    new = set(new_results(function))
    metadata: dict[str, Plain] = {
        "abi": ABI,
        "level": level,
        "parameters": _parameters(inputs.function().function.__code__),
        "slots": _plain_slots(lowered.paths, [slot.type for slot in function.slots]),
        "result": _plain_result(function.result),
        "sites": [_plain_site(site) for site in function.sites],
        "arrays": [
            [*_plain_type(each.type)[:2], each.type.ndim, number in new]
            for number, each in enumerate(function.arrays)
        ],
        "parallel": any(isinstance(each, ir.Parallel) for each in statements),
        "prints": any(isinstance(each, ir.Print) for each in statements),
        "nogil": nogil,
        "streams": _plain_streams(lowered.paths, function.streams),
        "polls": emitted.polls,
        "lean": emitted.lean_slots,
        "checkpoints": _plain_labels(function),
    }
    code = machine_code(emitted.text, level)
    # These are only read where the image cannot be mapped, or for `inspect`: they are compressed.
    payloads = {
        "object": zlib.compress(code),
        "llvm": zlib.compress(emitted.text.encode()),
        "ir": zlib.compress(shown.encode()),
    }
    try:
        image = link(code)
    except Unlinkable:  # LLVM can load it
        pass
    else:
        payloads["image"] = image.text
        metadata["image"] = image.plain
    return Artifact(payloads, metadata)


def _parameters(code: types.CodeType) -> list[Plain]:
    """The names of a function's parameters, in their order."""
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _too_deep(function: types.FunctionType) -> KernelError:
    file, line = place_of_code(function.__code__)
    what = f"{function.__qualname__} is nested too deeply"
    return KernelError(what, "Split long chains of operators, or of if and elif.", file, line, 1)


def _plain_result(result: ir.Result) -> Plain:
    match result:
        case ir.Local():
            assert isinstance(result.type, Scalar)
            return ["number", result.type.kind, result.type.bits]
        case int():
            return ["array", result]
        case ir.Slot(index):
            return ["slot", index]
        case ir.NamedResult():
            return ["named", [_plain_result(part) for part in result], *result.place]
        case tuple():
            return ["tuple", [_plain_result(part) for part in result]]
    return None


def _plain_site(site: ir.Site) -> Plain:
    plain: list[Plain] = [site.error, site.text, site.line, list(map(_plain_type, site.types))]
    if site.arguments is not None:
        frames = [
            [each.module, each.qualname, each.name, each.file, each.line, each.below, each.column,
             each.end]
            for each in site.frames
        ]  # fmt: skip
        plain += [list(site.arguments), frames]
    return plain


def _plain_labels(function: ir.Function) -> Plain:
    """The labels of the checkpoints in order; None if the source has none."""
    if not function.has_checkpoints:
        return None
    return tuple(label.plain for label, _ in function.resumed)


def _dump(wanted: str, name: str, function: ir.Function) -> None:
    if wanted in (name, "all"):
        print(f"# after {name}\n{text_of(function)}", file=sys.stderr)


def _plain_type(type: Scalar | ArrayType) -> list[Plain]:
    """A slot's type as plain data."""
    if isinstance(type, Scalar):
        return [type.kind, type.bits, type.weak]
    record = [type.record, type.alignment] if type.record else []
    return [*_plain_type(type.element), type.ndim, type.layout, type.writeable, *record]


def _plain_streams(paths: tuple[Path, ...], streams: list[ir.Slot]) -> Plain:
    """Where the bit generators are found that are locked in a launch: their state is a slot."""
    places = [paths[slot.index] for slot in streams]
    return [[each.root, each.name, [list(step) for step in each.steps[:-3]]] for each in places]


def _plain_slots(paths: tuple[Path, ...], kinds: list[Scalar | ArrayType]) -> Plain:
    """Where slots are found and what they are, as plain data: flat lists are read soonest."""
    return [
        [path.root, path.name, [list(step) for step in path.steps], *_plain_type(type)]
        for path, type in zip(paths, kinds, strict=True)
    ]
