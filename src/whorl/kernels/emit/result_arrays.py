"""Writes the code that makes the ndarrays which a kernel returns, by NumPy's C API.

Each has a word of the launch record behind the numbers that are returned: it holds the object, and
whoever launches takes it from there. What is not returned, because the launch fails or because
another array is, the kernel gives back when it ends. The interpreter's lock is taken for each of
these steps: a launch may have released it.
"""

from __future__ import annotations

from typing import Final

from whorl.kernels import ir
from whorl.kernels.ir_walk import statements_of
from whorl.launch.launch_record import STATUS, words_of

from .evaluation import value_of
from .llvm_types import ONCE
from .module import Module
from .polling import DECLARATIONS
from .writer import FunctionWriter

__all__ = ["begin_results", "make_result", "new_results", "release_results"]


def new_results(function: ir.Function) -> list[int]:
    """The numbers of the arrays that a program makes anew, to return them."""
    allocations = (each for each in statements_of(function) if isinstance(each, ir.Allocate))
    return sorted({each.result for each in allocations if each.result >= 0})


def begin_results(writer: FunctionWriter) -> None:
    """No array has been made yet."""
    for number in new_results(writer.module.function):
        writer.do(f"store i64 0, ptr {_word(writer, number)}")


def make_result(writer: FunctionWriter, statement: ir.Allocate) -> str:
    """The address of the memory of a new ndarray, or null."""
    _add_helpers(writer.module)
    kind = writer.module.function.arrays[statement.result]
    ndim = len(statement.extents)
    extents = writer.alloca(f"[{max(1, ndim)} x i64]", "extents")
    for i, extent in enumerate(statement.extents):
        place = writer.let(f"getelementptr inbounds i64, ptr {extents}, i64 {i}")
        writer.do(f"store i64 {value_of(writer, extent)}, ptr {place}")
    is_fortran = int(kind.type.layout == "F")
    arguments = (
        f"ptr {_word(writer, statement.result)}, i32 {ndim}, ptr {extents}, "
        f"i32 {kind.type.element.dtype.num}, i32 {is_fortran}, i1 {str(kind.is_zero).lower()}"
    )
    # Not `noalias`: LLVM would take what is stored there for never read again.
    return writer.let(f"call ptr @whorl_new_array({arguments})")


def release_results(writer: FunctionWriter) -> None:
    """Give back the arrays that are not returned, and all of them if the launch has failed."""
    returned = set(_numbers(writer.module.function.result))
    status = writer.let(f"load i64, ptr {writer.word(STATUS)}")
    has_failed = writer.let(f"icmp ne i64 {status}, 0")
    for number in new_results(writer.module.function):
        if number in returned:
            with writer.only_if(has_failed, "failed"):
                writer.do(f"call void @whorl_release(ptr {_word(writer, number)})")
        else:
            writer.do(f"call void @whorl_release(ptr {_word(writer, number)})")


def _numbers(result: ir.Result) -> list[int]:
    match result:
        case int():
            return [result]
        case tuple():
            return [number for part in result for number in _numbers(part)]
    return []


def _word(writer: FunctionWriter, number: int) -> str:
    """The address of the word for an array."""
    return writer.word(writer.module.result_word + _words(writer.module.function.result) + number)


def _words(result: ir.Result) -> int:
    """How many words the numbers of a result take."""
    match result:
        case ir.Local(type=type):
            return words_of(type)  # type: ignore[arg-type]  # a number's
        case tuple():
            return sum(map(_words, result))
    return 0


def _add_helpers(module: Module) -> None:
    if not module.begins("whorl_new_array"):
        return
    for name in ("PyGILState_Ensure", "PyGILState_Release", "PyErr_Clear"):
        module.declare_as(name, DECLARATIONS[name])
    for name, text in _DECLARATIONS.items():
        module.declare_as(name, text)
    module.functions.append(_TEXT.format(once=ONCE))


_DECLARATIONS: Final = {
    "Py_DecRef": "declare void @Py_DecRef(ptr)",
    "PyArray_Type": "@PyArray_Type = extern_weak global i8",
    "PyArray_DescrFromType": "declare ptr @PyArray_DescrFromType(i32)",
    "PyArray_New": "declare ptr @PyArray_New(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)",
    "PyArray_Zeros": "declare ptr @PyArray_Zeros(i32, ptr, ptr, i32)",
    "PyArray_GetPtr": "declare ptr @PyArray_GetPtr(ptr, ptr)",
}
_TEXT: Final = """define internal ptr @whorl_new_array(ptr %word, i32 %ndim, ptr %extents, \
i32 %type, i32 %fortran, i1 %zero) {once} {{
entry:
  %origin = alloca [64 x i64]
  call void @llvm.memset.p0.i64(ptr %origin, i8 0, i64 512, i1 false)
  %lock = call i32 @PyGILState_Ensure()
  br i1 %zero, label %zeros, label %any
zeros:
  %descr = call ptr @PyArray_DescrFromType(i32 %type)
  %cleared = call ptr @PyArray_Zeros(i32 %ndim, ptr %extents, ptr %descr, i32 %fortran)
  br label %after
any:
  %flags = mul i32 %fortran, 2
  %fresh = call ptr @PyArray_New(ptr @PyArray_Type, i32 %ndim, ptr %extents, i32 %type, \
ptr null, ptr null, i32 0, i32 %flags, ptr null)
  br label %after
after:
  %array = phi ptr [ %cleared, %zeros ], [ %fresh, %any ]
  store ptr %array, ptr %word
  %is_null = icmp eq ptr %array, null
  br i1 %is_null, label %none, label %some
none:
  call void @PyErr_Clear()
  call void @PyGILState_Release(i32 %lock)
  ret ptr null
some:
  %data = call ptr @PyArray_GetPtr(ptr %array, ptr %origin)
  call void @PyGILState_Release(i32 %lock)
  ret ptr %data
}}
define internal void @whorl_release(ptr %word) {once} {{
entry:
  %array = load ptr, ptr %word
  %is_null = icmp eq ptr %array, null
  br i1 %is_null, label %end, label %some
some:
  store ptr null, ptr %word
  %lock = call i32 @PyGILState_Ensure()
  call void @Py_DecRef(ptr %array)
  call void @PyGILState_Release(i32 %lock)
  br label %end
end:
  ret void
}}"""
