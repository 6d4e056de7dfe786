"""Installed code counts by name and version, the user's by content, and the line can be moved."""

from __future__ import annotations

import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import whorl
from tests.processes.programs import forked, printed, written

_CODE = """\
LIMIT = 3


def calc(x):
    return x * LIMIT


class Tool:
    size = 1

    def use(self):
        return self.size


def decorator(function):
    def wrapper(x):
        return function(x) + LIMIT

    return wrapper
"""
_USER = """\
import functools
import json
import tiny
import whorl
from tiny.core import Tool, calc, decorator


def by_name(x):
    return calc(x)


def by_attribute(x):
    return tiny.core.calc(x)


def by_import(x):
    from tiny.core import calc as inner
    return inner(x)


@decorator
def decorated(x):
    return x


TOOL = Tool()


def by_instance():
    return TOOL.use()


class Own(Tool):
    pass


ROOTS = {
    "itself": calc, "by name": by_name, "by attribute": by_attribute, "by import": by_import,
    "decorated": decorated, "by instance": by_instance, "class": Tool, "subclass": Own,
    "module": tiny, "bound method": Tool().use, "partial": functools.partial(calc, 1),
}


def digests(by=whorl.Fingerprinter()):
    return {name: str(by(root)) for name, root in ROOTS.items()}
"""
_ASKED = "import user, whorl; result = user.digests()"
_BY_CONTENT = """
import user, whorl
result = user.digests(whorl.Fingerprinter(boundary=whorl.Boundary(user=frozenset({"tiny"}))))
"""


def metadata(name: str, version: str) -> str:
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"


def site(
    folder: Path,
    code: str = _CODE,
    version: str = "1.0",
    *,
    record: bool = True,
    name: str = "tiny",
    files: Mapping[str, str] | None = None,
) -> Path:
    """A folder like site-packages with one distribution in it, beside a module of the user's."""
    info = f"{name}-{version}.dist-info"
    contents = files or {"tiny/__init__.py": "from . import core\n", "tiny/core.py": code}
    listed = [f"{file},," for file in (*contents, f"{info}/METADATA", f"{info}/RECORD")]
    written(folder / "site", {**contents, f"{info}/METADATA": metadata(name, version)})
    if record:
        written(folder / "site", {f"{info}/RECORD": "\n".join(listed) + "\n"})
    return written(folder, {"user.py": _USER})


def digests(program: str, *folders: Path) -> list[dict[str, str]]:
    place = "import sys, pathlib; sys.path.append(str(pathlib.Path(sys.path[0]) / 'site'))\n"
    found: list[dict[str, str]] = forked(place + program, folders)
    assert all(len(digest) == 32 for each in found for digest in each.values()), found
    return found


_EDITED = (
    _CODE.replace("x * LIMIT", "x + LIMIT")
    .replace("size = 1", "size = 2")
    .replace("function(x) + LIMIT", "function(x) - LIMIT")
)
# A wrapper made by installed code counts by its own code, too: it has no name to be found by.
_BY_CODE = {"decorated"}


def test_installed_code_counts_by_version_and_not_by_content(tmp_path: Path) -> None:
    before, edited, bumped = digests(
        _ASKED,
        site(tmp_path / "a"),
        site(tmp_path / "b", _EDITED),
        site(tmp_path / "c", version="1.1"),
    )
    assert {name for name in before if edited[name] != before[name]} <= _BY_CODE
    assert {name for name in before if bumped[name] == before[name]} == set()


def test_a_distribution_without_a_list_of_files_is_known_by_its_name(tmp_path: Path) -> None:
    before, edited, bumped = digests(
        _ASKED,
        site(tmp_path / "a", record=False),
        site(tmp_path / "b", _EDITED, record=False),
        site(tmp_path / "c", version="1.1", record=False),
    )
    assert {name for name in before if edited[name] != before[name]} <= _BY_CODE
    assert {name for name in before if bumped[name] == before[name]} == set()


def test_a_boundary_makes_installed_code_count_by_content(tmp_path: Path) -> None:
    before, edited, bumped = digests(
        _BY_CONTENT,
        site(tmp_path / "a"),
        site(tmp_path / "b", _EDITED),
        site(tmp_path / "c", version="1.1"),
    )
    assert {name for name in before if edited[name] == before[name]} == set()
    assert bumped == before


def test_an_editable_install_counts_by_content(tmp_path: Path) -> None:
    def editable(folder: Path, code: str, version: str) -> Path:
        info = f"tiny-{version}.dist-info"
        checkout = written(
            folder / "checkout" / "src",
            {"tiny/__init__.py": "from . import core\n", "tiny/core.py": code},
        )
        written(
            folder / "site",
            {
                "tiny.pth": f"{checkout}\n",
                f"{info}/METADATA": metadata("tiny", version),
                f"{info}/RECORD": f"tiny.pth,,\n{info}/METADATA,,\n{info}/RECORD,,\n",
                f"{info}/direct_url.json": '{"dir_info": {"editable": true}, "url": "file:///x"}',
            },
        )
        return written(folder, {"user.py": _USER})

    program = "import site\nsite.addsitedir(sys.path[-1])\n" + _ASKED
    before, edited, bumped = digests(
        program,
        editable(tmp_path / "a", _CODE, "1.0"),
        editable(tmp_path / "b", _EDITED, "1.0"),
        editable(tmp_path / "c", _CODE, "1.1"),
    )
    assert {name for name in before if edited[name] == before[name]} == set()
    assert bumped == before


def test_a_local_build_of_the_same_version_counts_by_the_digests_of_its_files(
    tmp_path: Path,
) -> None:
    def build(folder: Path, digest: str) -> Path:
        made = site(folder)
        info = folder / "site" / "tiny-1.0.dist-info"
        (info / "direct_url.json").write_text('{"dir_info": {}, "url": "file:///checkout"}')
        record = (info / "RECORD").read_text()
        (info / "RECORD").write_text(record.replace("core.py,,", f"core.py,sha256={digest},9"))
        return made

    one, same, two = digests(
        _ASKED,
        build(tmp_path / "a", "abc"),
        build(tmp_path / "b", "abc"),
        build(tmp_path / "c", "def"),
    )
    assert one == same
    assert {name for name in one if two[name] == one[name]} == set()


def test_two_distributions_in_one_namespace_have_versions_of_their_own(tmp_path: Path) -> None:
    def namespace(folder: Path, alpha: str, beta: str) -> Path:
        for name, version in (("alpha", alpha), ("beta", beta)):
            info = f"ns_{name}-{version}.dist-info"
            written(
                folder / "site",
                {
                    f"ns/{name}/__init__.py": "def calc(x):\n    return x\n",
                    f"{info}/METADATA": metadata(f"ns-{name}", version),
                    f"{info}/RECORD": f"ns/{name}/__init__.py,,\n{info}/RECORD,,\n",
                },
            )
        return folder

    program = """
import whorl, ns.alpha, ns.beta
result = {"alpha": whorl.fingerprint(ns.alpha.calc), "beta": whorl.fingerprint(ns.beta.calc)}
"""
    before, alpha, beta = digests(
        program,
        namespace(tmp_path / "a", "1.0", "1.0"),
        namespace(tmp_path / "b", "1.1", "1.0"),
        namespace(tmp_path / "c", "1.0", "1.1"),
    )
    assert before["alpha"] != alpha["alpha"]
    assert before["beta"] == alpha["beta"]
    assert before["alpha"] == beta["alpha"]
    assert before["beta"] != beta["beta"]


def test_a_module_of_a_single_file_is_known_by_its_distribution(tmp_path: Path) -> None:
    program = "import whorl, solo; result = {'solo': whorl.fingerprint(solo.calc)}"
    before, edited, bumped = digests(
        program,
        site(tmp_path / "a", name="Solo.Dist", files={"solo.py": _CODE}),
        site(tmp_path / "b", name="Solo.Dist", files={"solo.py": _EDITED}),
        site(tmp_path / "c", name="Solo.Dist", files={"solo.py": _CODE}, version="2"),
    )
    assert before == edited != bumped


def test_an_installed_module_run_as_a_program_gives_the_digests_of_the_imported_one(
    tmp_path: Path,
) -> None:
    program = "\n\nif __name__ == '__main__':\n    show()\n"
    show = "\n\ndef show():\n    import json, whorl\n    found = [calc, Tool, Tool().use, Tool()]\n"
    show += "    print(json.dumps([whorl.fingerprint(root) for root in found]))\n"
    folder = site(tmp_path, _CODE + show + program)
    path = [folder / "site"]
    as_program = printed("-m", "tiny.core", cwd=tmp_path, path=path)
    # `-m` warns when the package has imported its module already; so does this one.
    imported = printed("-c", "import tiny.core; tiny.core.show()", cwd=tmp_path, path=path)
    assert as_program == imported


@pytest.mark.parametrize("kind", ["site-packages", "dist-packages"])
def test_a_module_that_nothing_claims_is_the_users_even_beside_installed_ones(kind: str) -> None:
    folder = Path(sysconfig.get_path("stdlib")) / kind
    assert whorl.Boundary().home("unclaimed", str(folder / "unclaimed.py")).kind == "user"


def test_the_standard_library_counts_by_the_version_of_python() -> None:
    import json.decoder

    home = whorl.Boundary().home("json.decoder", json.decoder.__file__)
    assert home.kind == "standard"


def test_a_policy_with_another_boundary_is_another_policy() -> None:
    value: Any = [1, 2]
    own = whorl.Fingerprinter(boundary=whorl.Boundary(user=frozenset({"tiny"})))
    assert own(value) != whorl.fingerprint(value)
