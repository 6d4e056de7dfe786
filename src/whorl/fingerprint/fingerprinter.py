"""A value and a policy in, a digest out: the public interface of this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, cast

from .boundary import DEFAULT_BOUNDARY, Boundary
from .describe import Describer
from .difference import Difference, differences
from .digest import Digest, ProcessDigest, StableDigest, hash_hex
from .markers import FieldDecorator, FieldRule, Marker, ordered
from .modes import ByIdentity, ByType
from .policy import ClassRule, Policy
from .static_lookup import type_name
from .tokens import FORMAT, LEAVES, marshalled
from .walk import walk
from .walk_choice import Walks

__all__ = ["By", "Fingerprinter", "diff", "fingerprint", "key_orders", "walks_of"]


_new: Final = str.__new__  # a fresh hash need not be checked to be 32 hex digits
_STRUCTURE: Final = LEAVES | {bytes, list, tuple, dict, set, frozenset, object, type}


class Fingerprinter:
    """Rules of your own on top of the defaults.

    `rules` maps a class to what counts of its instances, subclasses included: a function
    that returns what stands for a value, `whorl.fields(...)` for single fields, or a marker
    for the whole value (`whorl.exclude`, `whorl.by_type`, `whorl.by_identity`). A rule holds
    for its class, never for a field name wherever it occurs.

    `functions` tells whether functions and classes count by "code" or by "name"; `boundary`, which
    code counts by content.

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
        if not isinstance(boundary, Boundary):
            raise TypeError(f"boundary= is a whorl.Boundary, not {boundary!r}")
        if functions not in ("code", "name"):
            raise ValueError(f"functions= is 'code' or 'name', not {functions!r}")
        rules = dict(rules or {})
        for cls, rule in rules.items():
            if not isinstance(cls, type):
                raise TypeError(f"rules= maps classes to rules; {cls!r} is no class")
            if any(cls is structural for structural in _STRUCTURE):
                raise TypeError(
                    f"rules= cannot change what {cls.__name__} means: every other value is made "
                    "of it. Give the rule to a class of your own"
                )
            if isinstance(rule, FieldDecorator):
                raise TypeError(
                    f"the rule for {cls.__name__} is a class decorator; "
                    f"write whorl.fields({rule.marker.name}={list(rule.names)!r})"
                )
            if not isinstance(rule, FieldRule) and not callable(rule):
                raise TypeError(
                    f"the rule for {cls.__name__} is {rule!r}; use a function, "
                    "whorl.fields(...) or a marker such as whorl.exclude"
                )
            if rule is ordered:
                raise TypeError("whorl.ordered is for a field, not for a class")
        policy = Policy(rules, functions, boundary)
        before = walk.identities
        try:
            self._walks = Walks(Describer(policy), _policy_tokens(policy))
        finally:
            walk.forget()
        self._is_stable = walk.identities == before

    def __call__(self, value: object) -> Digest:
        """The digest of a value under this policy.

        >>> Fingerprinter()(1) == fingerprint(1)
        True
        """
        before = walk.identities
        try:
            text = self._walks.digest(value)
        finally:
            walk.forget()
        stable = self._is_stable and walk.identities == before
        return _new(StableDigest if stable else ProcessDigest, text)

    def stable(self, value: object) -> StableDigest:
        """The digest of a value that may name something on disk; TypeError if it may not.

        >>> Fingerprinter().stable(1) == fingerprint(1)
        True
        """
        digest = self(value)
        if not isinstance(digest, StableDigest):
            raise TypeError(
                f"the digest of this {type_name(type(value))} is a ProcessDigest: a rule or marker "
                "is by_identity, which means nothing in another process"
            )
        return digest

    def diff(self, left: object, right: object) -> list[Difference]:
        """Every path at which two values differ under this policy.

        >>> [str(d) for d in Fingerprinter().diff({"a": 1}, {"a": 2})]
        ["value['a']: 1 -> 2"]
        """
        try:
            return differences(left, right, self._walks.describer)
        finally:
            walk.forget()


def walks_of(fingerprinter: Fingerprinter) -> Walks:
    """The walks behind a fingerprinter, and through them its describer and policy."""
    return fingerprinter._walks


def _policy_tokens(policy: Policy) -> tuple[object, ...]:
    """The part of every digest that stands for the policy."""
    if not policy.rules and policy.functions == "code" and policy.boundary == DEFAULT_BOUNDARY:
        return (FORMAT,)
    plain = Describer(Policy(boundary=policy.boundary))
    rules = sorted(
        marshalled((plain.class_parts(cls), _rule_parts(cls, rule, plain)))
        for cls, rule in policy.rules.items()
    )
    return (FORMAT, policy.functions, policy.boundary.parts(), rules)


def _rule_parts(cls: type, rule: ClassRule, plain: Describer) -> object:
    if isinstance(rule, Marker):
        return rule.name
    if isinstance(rule, FieldRule):
        return rule.parts()
    return hash_hex(marshalled(plain.graph(rule, f"the rule for {type_name(cls)}").tokens))


By = Literal["value", "type", "name", "identity"] | Fingerprinter

_DEFAULT: Final = Fingerprinter()
_BY: Final[dict[str, tuple[Fingerprinter, Callable[[object], object] | None]]] = {
    "value": (_DEFAULT, None),
    "type": (_DEFAULT, ByType),
    "name": (Fingerprinter(functions="name"), None),
    "identity": (_DEFAULT, ByIdentity),
}


def fingerprint(value: object, *, by: By = "value") -> Digest:
    """The identity of a value: 32 hexadecimal digits, the same in every process.

    `by` tells what counts: the "value"; its "type", where arrays count by dtype and shape;
    the value with functions and classes by "name"; this very object by "identity", which
    gives a `ProcessDigest`; or a `Fingerprinter` with rules of its own.

    >>> fingerprint({"a": 1, "b": [2.0]}) == fingerprint({"b": [2.0], "a": 1})
    True
    >>> fingerprint(1) == fingerprint(True)
    False
    >>> fingerprint([1, 2], by="type") == fingerprint([3, 4], by="type")
    True
    """
    policy, wrap = _policy_and_wrapper(by)
    return policy(value if wrap is None else wrap(value))


def key_orders(value: object) -> list[list[object]]:
    """The keys of every dict in a value, in their order, which a fingerprint leaves out.

    >>> key_orders([{"b": 1, "a": 2}, {"c": 3}])
    [['b', 'a']]
    """
    try:
        reached = _DEFAULT._walks.describer.graph(value).derived(dict)
    finally:
        walk.forget()
    orders = [list(dict.__iter__(cast("dict[object, object]", each))) for each in reached]
    return [order for order in orders if len(order) > 1]


def _policy_and_wrapper(by: By) -> tuple[Fingerprinter, Callable[[object], object] | None]:
    """The policy and the wrapper that `by=` stands for."""
    if isinstance(by, Fingerprinter):
        return by, None
    choice = _BY.get(by) if type(by) is str else None
    if choice is None:
        raise ValueError(
            f"by= is 'value', 'type', 'name', 'identity' or a Fingerprinter, not {by!r}"
        )
    return choice


def diff(left: object, right: object, *, by: By = "value") -> list[Difference]:
    """Every path at which two values differ, with both sides; empty for equal values.

    `by` tells what counts, as for `fingerprint`.

    >>> for difference in diff({"tile": 64, "opt": [1, 2]}, {"tile": 32, "opt": [1, 2, 3]}):
    ...     print(difference)
    value['opt'][2]: nothing -> 3
    value['tile']: 64 -> 32
    """
    policy, wrap = _policy_and_wrapper(by)
    return policy.diff(left, right) if wrap is None else policy.diff(wrap(left), wrap(right))
