"""An extension of griffe that converts the docstrings of whorl to Markdown.

griffe reads the sources for mkdocstrings. The extension puts doctests into code blocks, and gives
classes that are decorated with `whorl.fast_dataclasses.dataclass` a signature with their fields.
"""

from __future__ import annotations

from typing import Any

import griffe

from docs.site.prompts import fenced

__all__ = ["PromptBlocks"]


class PromptBlocks(griffe.Extension):  # type: ignore[misc]  # griffe is in .venv-docs only
    """Puts each doctest into a code block."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called for each object that was read from a source."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Called after a whole package was read, when all names can be resolved."""
        _give_signatures(pkg)


def _give_signatures(module: griffe.Module) -> None:
    for member in module.members.values():
        if member.is_alias:
            continue
        if isinstance(member, griffe.Module):
            _give_signatures(member)
        elif isinstance(member, griffe.Class) and _is_late(member):
            member.members.setdefault("__init__", _initializer(member))


def _is_late(cls: griffe.Class) -> bool:
    return any(
        decorator.callable_path in ("whorl.fast_dataclasses.dataclass", "dataclasses.dataclass")
        for decorator in cls.decorators
    )


def _initializer(cls: griffe.Class) -> griffe.Function:
    parameters = [griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)]
    for name, member in cls.members.items():
        if not isinstance(member, griffe.Attribute) or member.annotation is None:
            continue
        if "class-attribute" in member.labels and "instance-attribute" not in member.labels:
            continue
        parameters.append(
            griffe.Parameter(
                name,
                annotation=member.annotation,
                kind=griffe.ParameterKind.positional_or_keyword,
                default=member.value,
            )
        )
    return griffe.Function(
        "__init__", parameters=griffe.Parameters(*parameters), returns="None", parent=cls
    )
