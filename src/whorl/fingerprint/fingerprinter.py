"""A value and a policy in, a digest out: the door to this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from .asked import ByIdentity, ByType
from .boundary import DEFAULT_BOUNDARY, Boundary
from .describe import Describer
from .difference import Difference, differences
from .digest import Digest, ProcessDigest, StableDigest, hash_hex
from .emit import Emitters
from .identity import asked
from .markers import FieldRule, Marker, ordered
from .policy import ClassRule, Policy
from .tokens import FORMAT, LEAVES, marshalled

__all__ = ["By", "Fingerprinter", "diff", "fingerprint"]


_new: Final = str.__new__
_STRUCTURE: Final = LEAVES | {bytes, list, tuple, dict, set, frozenset, object, type}


class Fingerprinter:
    """Rules of your own on top of the defaults.

    `rules` maps a class to what counts of its instances, subclasses included: a function
    that returns what stands for a value, `whorl.fields(...)` for single fields, or a marker
    for the whole value (`whorl.exclude`, `whorl.by_type`, `whorl.by_identity`). A rule holds
    for its class, never for a field name wherever it occurs.

    `functions` says whether functions and classes count by "code" or by "name"; `boundary`,
    which code counts by content.

    The policy is part of the digest: two policies never give one digest for the same value,
    except that a policy without choices is the default.

    >>> import whorl
    >>> class Span:
    ...     def __init__(self, start, end): self.start, self.end = start, end
    >>> without_spans = whorl.Fingerprinter(rules={Span: whorl.exclude})
    >>> without_spans(["x", Span(1, 2)]) == without_spans(["x", Span(7, 9)])
    True
    >>> whorl.fingerprint(["x", Span(1, 2)]) == whorl.fingerprint(["x", Span(7, 9)])
    False
    """

    def __init__(
        self,
        rules: Mapping[type, ClassRule] | None = None,
        *,
        functions: Literal["code", "name"] = "code",
        boundary: Boundary = DEFAULT_BOUNDARY,
    ) -> None:
        if functions not in ("code", "name"):
            raise ValueError(f"functions= is 'code' or 'name', not {functions!r}")
        rules = dict(rules or {})
        for cls, rule in rules.items():
            if not isinstance(cls, type):
                raise TypeError(f"rules= maps classes to rules; {cls!r} is no class")
            if cls in _STRUCTURE:
                raise TypeError(
                    f"rules= cannot change what {cls.__name__} means: every other value is made "
                    "of it. Give the rule to a class of your own"
                )
            if not isinstance(rule, FieldRule) and not callable(rule):
                raise TypeError(
                    f"the rule for {cls.__name__} is {rule!r}; use a function, "
                    "whorl.fields(...) or a marker such as whorl.exclude"
                )
            if rule is ordered:
                raise TypeError("whorl.ordered says something about a field, not about a class")
        self.policy = Policy(rules, functions, boundary)
        self._describer = Describer(self.policy)
        self._emitters = Emitters(self._describer)
        self._head = self._identity()

    def __call__(self, value: object) -> Digest:
        """The digest of a value under this policy.

        >>> Fingerprinter()(1) == fingerprint(1)
        True
        """
        before = asked.times
        text = hash_hex(self._emitters.written(value, self._head))
        return _new(StableDigest if asked.times == before else ProcessDigest, text)

    def diff(self, left: object, right: object) -> list[Difference]:
        """Every path at which two values differ under this policy.

        >>> [str(d) for d in Fingerprinter().diff({"a": 1}, {"a": 2})]
        ["value['a']: 1 -> 2"]
        """
        return differences(left, right, self._describer)

    def _identity(self) -> tuple[object, ...]:
        """What of the policy is part of every digest."""
        policy = self.policy
        if not policy.rules and policy.functions == "code" and policy.boundary == DEFAULT_BOUNDARY:
            return (FORMAT,)
        plain = Describer(Policy(boundary=policy.boundary))
        said = sorted(
            marshalled((plain.class_parts(cls), _rule_parts(rule, plain)))
            for cls, rule in policy.rules.items()
        )
        return (FORMAT, policy.functions, policy.boundary.parts(), said)


def _rule_parts(rule: ClassRule, plain: Describer) -> object:
    if isinstance(rule, Marker):
        return rule.name
    if isinstance(rule, FieldRule):
        return rule.parts()
    return hash_hex(marshalled(plain.graph(rule, "the rule").tokens))


By = Literal["value", "type", "name", "identity"] | Fingerprinter

_DEFAULT: Final = Fingerprinter()
_BY_NAME: Final = Fingerprinter(functions="name")


def fingerprint(value: object, *, by: By = "value") -> Digest:
    """The identity of a value: 32 hexadecimal digits, the same in every process.

    `by` says what counts: the "value"; its "type", where arrays count by dtype and shape;
    the value with functions and classes by "name"; this very object by "identity", which
    gives a `ProcessDigest`; or a `Fingerprinter` with rules of its own.

    >>> fingerprint({"a": 1, "b": [2.0]}) == fingerprint({"b": [2.0], "a": 1})
    True
    >>> fingerprint(1) == fingerprint(True)
    False
    >>> fingerprint([1, 2], by="type") == fingerprint([3, 4], by="type")
    True
    """
    if by == "value":
        return _DEFAULT(value)
    if isinstance(by, Fingerprinter):
        return by(value)
    if by == "type":
        return _DEFAULT(ByType(value))
    if by == "identity":
        return _DEFAULT(ByIdentity(value))
    if by == "name":
        return _BY_NAME(value)
    raise ValueError(f"by= is 'value', 'type', 'name', 'identity' or a Fingerprinter, not {by!r}")


def diff(left: object, right: object, *, by: Fingerprinter | None = None) -> list[Difference]:
    """Every path at which two values differ, with both sides; empty for equal values.

    >>> for difference in diff({"tile": 64, "opt": [1, 2]}, {"tile": 32, "opt": [1, 2, 3]}):
    ...     print(difference)
    value['opt'][2]: nothing -> 3
    value['tile']: 64 -> 32
    """
    return (by or _DEFAULT).diff(left, right)
