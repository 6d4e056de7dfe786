"""Instructions in, the text of a Python function out."""

from __future__ import annotations

from .lower import Code

INDENT = "    "


def generate(code: Code) -> str:
    lines = [f"def program({', '.join(code.parameters)}):"]
    for step in code.instructions:
        if step.operator == "=":
            lines.append(f"{INDENT}{step.target} = {step.left}")
        else:
            lines.append(f"{INDENT}{step.target} = {step.left} {step.operator} {step.right}")
    lines.append(f"{INDENT}return {code.instructions[-1].target}")
    return "\n".join(lines) + "\n"
