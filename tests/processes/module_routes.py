"""Ways by which a function gets at the names of a module, and whether the name is known.

`NAMED` are bodies of functions in which the name `X` of the module `pack.n` can be told from the
code: nothing else of that module counts, and its lock is no reason to refuse. `WHOLE` are those
in which it cannot be told, or not without following calls: all of `pack.bare` counts.
"""

from __future__ import annotations

from typing import Final

__all__ = ["FILES", "NAMED", "WHOLE", "main_of"]

FILES: Final = {
    "pack/__init__.py": "TOP = 1\nSPARE = 1\n",
    "pack/n.py": (
        "import threading\n\nX = 1\nUNREAD = 10\nLOCK = threading.Lock()\nNAMES = ['X']\n\n\n"
        "def g():\n    return UNREAD\n\n\n"
        "class C:\n    X = 1\n"
    ),
    "pack/h.py": "X = 1\nUNREAD = 10\n\n\ndef g():\n    return 5\n",
    "pack/bare.py": "X = 1\nUNREAD = 10\n",
    "deep/__init__.py": "from . import bare\n",
    "deep/bare.py": "X = 1\nUNREAD = 10\n",
    "pack/star.py": "from pack.bare import *\n\n\ndef get():\n    return X\n",
}

NAMED: Final = {
    "an attribute": "return n.X",
    "a local name": "m = n\nreturn m.X",
    "a local name with a choice": "m = n\nif x > 5:\n    m = bare\nreturn m.X",
    "a local name in a nested function": "m = n\nreturn (lambda: m.X)()",
    "a local name in a comprehension": "m = n\nreturn [m.X for _ in range(2)]",
    "a local name through a package": "m = pack.n\nreturn m.X",
    "an import in the body": "import pack.n\nreturn pack.n.X",
    "an import in the body under a name": "import pack.n as m\nreturn m.X",
    "an import of a module from its package": "from pack import n as m\nreturn m.X",
    "an import that may fail": (
        "try:\n    import pack.n as m\nexcept ImportError:\n    import pack.bare as m\nreturn m.X"
    ),
    "getattr": "return getattr(n, 'X')",
    "getattr with a default": "return getattr(n, 'X', [x + 1])",
    "getattr with the name in a global": "return getattr(n, NAME)",
    "hasattr and getattr": "return getattr(n, 'X') if hasattr(n, 'X') else 0",
    "getattr of a local name": "m = n\nreturn getattr(m, 'X')",
    "getattr of getattr": "return getattr(getattr(pack, 'n'), 'X')",
    "__dict__": "return n.__dict__['X']",
    "__dict__ under a local name": "d = n.__dict__\nreturn d['X']",
    "__dict__ with the name in a global": "return n.__dict__[NAME]",
    "__dict__.get": "return n.__dict__.get('X', 3)",
    "__dict__.__getitem__": "return n.__dict__.__getitem__('X')",
    "in __dict__": "return n.__dict__['X'] if 'X' in n.__dict__ else 0",
    "vars": "return vars(n)['X']",
    "vars under a local name": "d = vars(n)\nreturn d.get('X')",
    "vars of an import in the body": "import pack.n as m\nreturn vars(m)['X']",
    "__getattribute__": "return n.__getattribute__('X')",
    "object.__getattribute__": "return object.__getattribute__(n, 'X')",
    "ModuleType.__getattribute__": "return types.ModuleType.__getattribute__(n, 'X')",
    "inspect.getattr_static": "return inspect.getattr_static(n, 'X')",
    "operator.attrgetter": "return operator.attrgetter('X')(n)",
    "a function's globals": "return h.g.__globals__['X']",
    "a function's globals, get": "return hg.__globals__.get('X')",
    "getattr of a function's globals": "return getattr(hg, '__globals__')['X']",
    "a class of the module": "return n.C.X",
    "a captured module": "return made(x)",
}

WHOLE: Final = {
    "an argument of a function": "return helper(bare)",
    "a loop over __dict__": "return [v for k, v in sorted(bare.__dict__.items()) if k == 'X']",
    "a loop over vars": "return {k: v for k, v in vars(bare).items() if k in 'X'}['X']",
    "format_map": "return '{X}'.format_map(bare.__dict__)",
    "format": "return '{0.X}'.format(bare)",
    "an f-string": "return f'{bare.X}'",
    "a name that is put together": "return getattr(bare, 'x'.upper())",
    "a name that is an argument": "return bare.__dict__[name]",
    "a new dict": "return {**bare.__dict__}['X']",
    "keywords": "return types.SimpleNamespace(**vars(bare)).X",
    "a copy": "return bare.__dict__.copy()['X']",
    "a list of modules": "return [m.X for m in (bare,)]",
    "map": "return list(map(operator.attrgetter('X'), [bare]))",
    "dir": "return [getattr(bare, k) for k in dir(bare) if k == 'X']",
    "inspect.getmembers": "return dict(inspect.getmembers(bare))['X']",
    "a chained assignment": "a = b = bare\nreturn helper(a)",
    "a local name that is rebound to a part": (
        "m = deep\nfor _ in range(1):\n    m = m.bare\nreturn m.X"
    ),
    "locals": "m = bare\nreturn locals()['m'].X",
    "a star import": "return star.get()",
    "a pattern": "match bare:\n    case types.ModuleType(X=value):\n        return value",
}

_HEAD: Final = """
import inspect, operator, types
import whorl
import deep, pack, pack.bare, pack.h, pack.n, pack.star
from pack import bare, h, n, star
from pack.h import g as hg

NAME = "X"


def helper(module):
    return module.X


def maker():
    import pack.n as module

    def made(x):
        return module.X

    return made


made = maker()
"""


def main_of(routes: dict[str, str]) -> str:
    """A module with a cached function for each route, in a dict by their names."""
    parts = [_HEAD]
    for i, body in enumerate(routes.values()):
        lines = "\n    ".join(body.splitlines())
        parts.append(f"\n@whorl.cached\ndef route_{i}(x, name='X'):\n    {lines}\n")
    table = ", ".join(f"{name!r}: route_{i}" for i, name in enumerate(routes))
    return "\n".join([*parts, f"ROUTES = {{{table}}}\n"])
