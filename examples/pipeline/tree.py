"""The syntax tree: names, numbers and operations, each with the place it was written at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    line: int
    column: int


@dataclass(frozen=True)
class Number:
    value: float
    span: Span


@dataclass(frozen=True)
class Name:
    name: str
    span: Span


@dataclass(frozen=True)
class Binary:
    operator: str
    left: Number | Name | Binary
    right: Number | Name | Binary
    span: Span


Expression = Number | Name | Binary


@dataclass(frozen=True)
class Let:
    name: str
    value: Expression
    span: Span


@dataclass(frozen=True)
class Program:
    """`let` after `let`; the last one is the result."""

    parameters: tuple[str, ...]
    lets: tuple[Let, ...]
