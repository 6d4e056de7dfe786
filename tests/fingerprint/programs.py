"""The text of a module in, the module or the digest of a thing in it out."""

from __future__ import annotations

import importlib
import itertools
import sys
import textwrap
from pathlib import Path
from typing import Any

import whorl

__all__ = ["Programs"]


class Programs:
    """Modules written into a folder of their own and imported from there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._versions = itertools.count()

    def load(self, text: str, name: str = "program") -> Any:
        """The module with this text, in a folder of its own: an edit is followed by a restart."""
        folder = self.folder / f"v{next(self._versions)}"
        file = folder.joinpath(*name.split(".")).with_suffix(".py")
        file.parent.mkdir(parents=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8", errors="surrogatepass")
        sys.modules.pop(name, None)
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()
        try:
            return importlib.import_module(name)
        finally:
            sys.path.remove(str(folder))

    def get(self, text: str, thing: str = "f") -> Any:
        """The thing of that name in a module with this text."""
        return getattr(self.load(text), thing)

    def digest(self, text: str, thing: str = "f") -> str:
        """The digest of the thing of that name in a module with this text."""
        return whorl.fingerprint(self.get(text, thing))

    def same(self, *texts: str, thing: str = "f") -> bool:
        """Whether a thing has one digest in all versions of a module."""
        return len({self.digest(text, thing) for text in texts}) == 1
