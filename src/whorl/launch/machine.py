"""LLVM: compiles its text to machine code, and loads object files."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from whorl.errors import NoCompiler
from whorl.lazy import importing
from whorl.locks import RLock

from .level import ARM_LEVELS, host_level, lowest_level, machine_of
from .mapped import REFUSED, is_executable

if TYPE_CHECKING:
    import llvmlite.binding as llvm


_untuned: Final[list[None]] = []  # one for each that asks for the same code on every machine

# LLVM's pass managers are not for two threads at once. A fork waits for who has this as it does for
# who imports: the child would find LLVM's own locks taken for ever.
_lock: Final = RLock()


@functools.cache
def binding() -> Any:
    """LLVM, imported when it is first needed: that takes as long as NumPy."""
    with importing:
        try:
            import llvmlite.binding as llvm
        except ModuleNotFoundError as error:
            raise NoCompiler from error

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    return llvm


@functools.cache
def _triple(level: str) -> str:
    """What LLVM calls the machines of a level: the system is this one's, also for others."""
    llvm = binding()
    here = str(llvm.get_default_triple())
    if machine_of(level) == machine_of(lowest_level()):
        return here
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return "-".join([machine_of(level), *here.split("-")[1:]])


@functools.cache
def _machine(level: str) -> llvm.TargetMachine:
    target = binding().Target.from_triple(_triple(level))
    cpu = "generic" if level in ARM_LEVELS else "" if level == "generic" else level
    return target.create_target_machine(cpu=cpu, opt=3, reloc="pic", codemodel="small")


@functools.cache
def _frame(level: str, is_tuned: bool) -> tuple[str, str]:
    """What stands before and after a program's text: for whom it is, and its attributes.

    A program for the very level of this machine can be tuned for this machine's model. That
    changes which of several right instructions are chosen, never which machines can run the code.
    Vectors have 256 bits also where 512 are possible: in loops of some dozens of iterations, most
    of which would then be left over, the wider ones cost a third (matrix multiply in blocks of 64),
    and in long ones they gain a twentieth.
    """
    llvm = binding()
    common = 'nounwind "prefer-vector-width"="256"'
    if is_tuned and level == host_level():
        common += f' "tune-cpu"="{llvm.get_host_cpu_name()}"'
    before = (
        f'target datalayout = "{_machine(level).target_data}"\ntarget triple = "{_triple(level)}"\n'
    )
    after = f"attributes #0 = {{ {common} }}\nattributes #1 = {{ {common} noinline }}\n"
    return before, after


@contextmanager
def untuned() -> Iterator[None]:
    """Inside, code is not tuned for the model of this machine: it is for others."""
    _untuned.append(None)
    try:
        yield
    finally:
        _untuned.pop()


def optimised(text: str, level: str, effort: int = 3) -> llvm.ModuleRef:
    """A module after LLVM's passes at -O3; at less effort, loops are left as they are."""
    llvm, machine = binding(), _machine(level)
    before, after = _frame(level, not _untuned)
    module = llvm.parse_assembly(f"{before}{text}{after}")
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=effort)
    options.loop_vectorization = effort == 3
    options.slp_vectorization = effort == 3
    options.loop_interleaving = effort == 3
    options.loop_unrolling = effort == 3
    builder = llvm.create_pass_builder(machine, options)
    manager = builder.getModulePassManager()
    manager.run(module, builder)
    return module


def machine_code(text: str, level: str, effort: int = 3) -> bytes:
    """The object file of a module's text."""
    with importing, _lock:
        return bytes(_machine(level).emit_object(optimised(text, level, effort)))


def assembly(text: str, level: str) -> str:
    """The assembly of a module's text."""
    with importing, _lock:
        return str(_machine(level).emit_assembly(optimised(text, level)))


def optimised_text(text: str, level: str) -> str:
    """A module's text after LLVM's passes."""
    with importing, _lock:
        return str(optimised(text, level))


def load_object(code: bytes, function: str) -> tuple[int, object]:
    """The address of a function of an object file, and what keeps it in memory."""
    llvm = binding()
    with importing, _lock:
        from . import outside_routines  # when an object is loaded, which is seldom
        from .numpy_api import NUMPY, numpy_address

        for name in outside_routines.ROUTINES:
            if name.encode() in code:  # LLVM takes an unknown weak symbol for 0
                address = outside_routines.address(name)
                if address:
                    llvm.add_symbol(name, address)
        for name in NUMPY:
            if name.encode() in code:
                llvm.add_symbol(name, numpy_address(name))
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _load_machine())
        engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
        engine.finalize_object()
        place: int = engine.get_function_address(function)
    if not is_executable(place):
        raise RuntimeError(
            f"machine code cannot be run: {REFUSED}.\n"
            "  Allow it for this program, or run kernels as plain Python: WHORL_INTERPRET=1."
        )
    return place, engine


def _load_machine() -> llvm.TargetMachine:
    return binding().Target.from_default_triple().create_target_machine(opt=0, jit=True)
