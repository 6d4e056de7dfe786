"""Text with prompts in, Markdown with blocks of code out."""

from __future__ import annotations

__all__ = ["fenced"]


def fenced(text: str) -> str:
    """The same text with a fence around its examples, which end at an empty line.

    >>> fenced("A sum.\\n\\n>>> 1 + 1\\n2").splitlines()
    ['A sum.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    lines: list[str] = []
    is_open = False
    for line in text.splitlines():
        if not is_open and line.startswith(">>>"):
            is_open = True
            lines.append("```pycon")
        elif is_open and not line.strip():
            is_open = False
            lines.append("```")
        lines.append(line)
    if is_open:
        lines.append("```")
    return "\n".join(lines)
