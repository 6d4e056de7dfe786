"""The reference has every public name, once, and every setting."""

from __future__ import annotations

import importlib
import json
import re

import pytest

import whorl
from docs.site import prompts, reference
from whorl import settings

PAGES = {page.path: page.text for page in reference.pages()}


@pytest.mark.parametrize("name", whorl.__all__)
def test_a_public_name_is_on_one_page(name: str) -> None:
    ways = ("heading: {}$", "^## {}$", r"^\| `{}` \|", "^::: {}$")
    entry = "|".join(way.format(rf"whorl\.{name}") for way in ways)
    assert sum(len(re.findall(entry, text, re.M)) for text in PAGES.values()) == 1


@pytest.mark.parametrize("package", ["store", "artifacts", "reads", "testing", "jit"])
def test_names_of_a_package_are_in_the_reference(package: str) -> None:
    module = importlib.import_module(f"whorl.{package}")
    text = "\n".join(PAGES.values())
    missing = [
        name
        for name in module.__all__
        if f"whorl.{name}\n" not in text and f"whorl.{package}.{name}\n" not in text
    ]
    assert not missing


def test_places_that_are_named_are_where_things_are_written() -> None:
    for place in re.findall(r"^::: (\S+)$", "\n".join(PAGES.values()), re.M):
        module, _, name = place.rpartition(".")
        assert hasattr(importlib.import_module(module), name), place


def test_classes_with_internal_members_show_their_public_ones_only() -> None:
    text = "\n".join(PAGES.values())
    listed = {name.public: name.value for names in reference.names().values() for name in names}
    for public, members in reference.MEMBERS.items():
        assert [member for member in members if not hasattr(listed[public], member)] == [], public
        shown = f"members: {json.dumps(members)}" if members else "members: false"
        assert f"toc_label: {public}\n      {shown}\n" in text


@pytest.mark.parametrize("name", ["make_native", "is_plain", "call_in_python", "world", "asking"])
def test_what_other_packages_of_whorl_call_is_not_in_the_reference(name: str) -> None:
    for public in ("whorl.Kernel", "whorl.NumericKernel", "whorl.Inputs"):
        assert name not in reference.MEMBERS[public]


def test_every_setting_has_a_row_that_says_what_it_can_be() -> None:
    text = PAGES["reference/settings.md"]
    for option, (variable, _) in settings.OPTIONS.items():
        found = re.search(rf"^\| `{variable}` \| `{option}` \| (.+) \|", text, re.M)
        assert found, variable
        assert found[1].partition(" | ")[0].strip(), variable


def test_the_settings_page_names_no_directory_of_this_machine() -> None:
    assert settings.current().cache_place.value not in PAGES["reference/settings.md"]


def test_examples_in_docstrings_become_blocks_and_all_else_stays() -> None:
    text = "One.\n\n>>> 1 + 1\n2\n\nTwo.\n\n>>> for x in []:\n...     pass\n\n>>> 3\n3"
    assert prompts.fenced(text).replace("```pycon\n", "").replace("\n```", "") == text
    assert prompts.fenced(text).count("```pycon\n>>> ") == 3
    assert prompts.fenced("No example.") == "No example."
