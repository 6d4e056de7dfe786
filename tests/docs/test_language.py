"""The page about the language is what the tables of the compiler say."""

from __future__ import annotations

from docs.site.language import PAGE, language_page
from whorl.kernels.library import LIBRARY
from whorl.kernels.lowering.functions import ARRAY_METHODS, FUNCTIONS


def test_the_page_is_what_the_tables_say() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == language_page(), "write it anew: python -m docs.site.language"


def test_every_function_and_method_is_on_the_page() -> None:
    text = language_page()
    for name in FUNCTIONS:
        if not name.startswith("whorl.library."):
            shown = name.replace("numpy.", "np.", 1).removeprefix("builtins.")
            assert f"`{shown}`" in text or f"`{shown}(" in text, name
    for name in ARRAY_METHODS:
        assert f"`a.{name}(" in text, name


def test_no_function_of_the_library_is_hidden_by_another_of_that_name() -> None:
    names = [name for row in LIBRARY for name in row.names]
    assert len(names) == len(set(names))
    for name in names:
        handler = FUNCTIONS[name]
        qualname = getattr(handler, "__qualname__", "")
        assert "_of_library" in qualname or name in OF_SMALL_VECTORS_FIRST, name


OF_SMALL_VECTORS_FIRST = ("numpy.cross", "numpy.linalg.norm")
