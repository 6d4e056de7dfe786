"""The example of a pipeline redoes what an edit reaches, and nothing else."""

from __future__ import annotations

import pytest

from examples.pipeline import __main__ as pipeline

EXPECTED = {
    "(the first build)": "parse diagnose lower optimise generate load",
    "nothing": "diagnose load",
    "a comment in the program": "parse diagnose load",
    "a comment in a pass": "diagnose load",
    "a pass: x + 0 is x, too": "diagnose optimise load",
    "the configuration of a pass": "diagnose optimise generate load",
    "a constant of the generator": "diagnose generate load",
    "the parser": "parse diagnose load",
    "the program": "parse diagnose lower optimise generate load",
}


def test_an_edit_redoes_what_it_reaches(capsys: pytest.CaptureFixture[str]) -> None:
    pipeline.main()
    head, *rows, _ = capsys.readouterr().out.splitlines()
    names = head.split()[:6]
    found = {}
    for row in rows:
        cells = row.split(maxsplit=7)
        ran = [name for name, cell in zip(names, cells[:6], strict=True) if cell == "ran"]
        found[cells[7]] = " ".join(ran)
        assert cells[6] == ("75" if cells[7] == "the program" else "63")
    assert found == EXPECTED
