"""What the command line prints in the documentation is what it prints."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import click
import pytest

from tests.docs.console import outputs, steps, unlike
from whorl.cli.command import COMMANDS, whorl

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "command_line.md"


@pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("bash"), reason="the page is for a Linux shell"
)
def test_the_commands_of_the_guide_print_what_it_shows(tmp_path: Path) -> None:
    page = GUIDE.read_text(encoding="utf-8")
    for step, printed in zip(steps(page), outputs(page, tmp_path), strict=True):
        assert unlike(printed) == unlike(step.shown), step.command


def test_the_guide_names_every_command_and_every_option_that_it_names_is_one() -> None:
    page = GUIDE.read_text(encoding="utf-8")
    assert set(re.findall(r"whorl ([a-z]+)", page)) >= set(COMMANDS)
    for name, rest in re.findall(r"^(?:\$ )?whorl ([a-z]+)(.*)$", page, re.MULTILINE):
        command = whorl.get_command(click.Context(whorl), name)
        assert command is not None
        known = {option for parameter in command.params for option in parameter.opts}
        own = rest.partition("$(")[0]
        assert set(re.findall(r"(?<![\w\"])--[a-z-]+", own)) <= {*known, "--help"}
