"""Text in, syntax tree out.

program    = "given" name* newline (name "=" expression newline)*
expression = term (("+" | "-") term)*
term       = factor (("*" | "/") factor)*
factor     = number | name | "(" expression ")"
"""

from __future__ import annotations

import re

from .tree import Binary, Expression, Let, Name, Number, Program, Span

TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|([A-Za-z_]\w*)|(.))")


class SyntaxProblem(Exception):
    pass


class Line:
    """The tokens of one line, read from left to right."""

    def __init__(self, text: str, number: int) -> None:
        self.number = number
        self.tokens = [
            (match.start(match.lastindex or 0) + 1, match[match.lastindex or 0])
            for match in TOKEN.finditer(text.partition("#")[0].rstrip())
        ]
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, wanted: str = "") -> tuple[str, Span]:
        if not self.peek() or (wanted and self.peek() != wanted):
            raise SyntaxProblem(f"line {self.number}: expected {wanted or 'more'} {self.peek()!r}")
        column, text = self.tokens[self.at]
        self.at += 1
        return text, Span(self.number, column)


def expression(line: Line, operators: tuple[str, ...] = ("+-", "*/")) -> Expression:
    if not operators:
        return factor(line)
    left = expression(line, operators[1:])
    while line.peek() and line.peek() in operators[0]:
        operator, span = line.take()
        left = Binary(operator, left, expression(line, operators[1:]), span)
    return left


def factor(line: Line) -> Expression:
    text, span = line.take()
    if text == "(":
        inner = expression(line)
        line.take(")")
        return inner
    return Number(float(text), span) if text[0].isdigit() else Name(text, span)


def parse(text: str) -> Program:
    parameters: tuple[str, ...] = ()
    lets = []
    for number, row in enumerate(text.splitlines(), start=1):
        line = Line(row, number)
        if not line.peek():
            continue
        if line.peek() == "given":
            parameters = tuple(name for _, name in line.tokens[1:])
            continue
        name, span = line.take()
        line.take("=")
        lets.append(Let(name, expression(line), span))
        if line.peek():
            raise SyntaxProblem(f"line {number}: {line.peek()!r} is too much")
    return Program(parameters, tuple(lets))
