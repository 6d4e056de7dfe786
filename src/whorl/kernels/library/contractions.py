"""Sums of products over named axes: `np.einsum` and `np.tensordot`."""

from __future__ import annotations

from typing import Final

import numpy as np

from whorl.kernels.language import static

from .axes import moveaxis
from .conditions import refuse, require
from .library_function import LibraryFunction, row
from .matrices import diagonal

__all__ = ["ROWS"]


def _axes_of_both(axes, a_ndim, b_ndim):
    """The axes that are summed over, from the front; None where there are no such axes.

    >>> _axes_of_both(1, 2, 3), _axes_of_both(([0, 1], [-1, 0]), 2, 2), _axes_of_both(3, 2, 2)
    (((1,), (0,)), ((0, 1), (1, 0)), None)
    """
    if isinstance(axes, int):
        first, second = tuple(range(a_ndim - axes, a_ndim)), tuple(range(axes))
    else:
        first, second = (
            tuple(each) if isinstance(each, list | tuple) else (each,) for each in axes
        )
    if len(first) != len(second):
        return None
    for chosen, ndim in ((first, a_ndim), (second, b_ndim)):
        if not all(-ndim <= axis < ndim for axis in chosen):
            return None
    return tuple(axis % a_ndim for axis in first), tuple(axis % b_ndim for axis in second)


def tensordot(a, b, axes=2):
    """The sums of products of elements along some axes of both: a product of matrices."""
    a_ndim, b_ndim = a.ndim, b.ndim
    both = static(_axes_of_both(axes, a_ndim, b_ndim))
    if both is None:
        refuse("np.tensordot over axes {} of arrays with {} and {} dimensions",
               static(axes), a_ndim, b_ndim)  # fmt: skip
    first, second = both[0], both[1]
    rest_a = static(tuple(axis for axis in range(a_ndim) if axis not in first))
    rest_b = static(tuple(axis for axis in range(b_ndim) if axis not in second))
    rows, columns, inner = 1, 1, 1
    shape = ()
    for i in static(range(len(first))):
        require(a.shape[first[i]] == b.shape[second[i]], ValueError,
                "{} and {} elements along two axes that are summed over together",
                a.shape[first[i]], b.shape[second[i]])  # fmt: skip
        inner = inner * a.shape[first[i]]
    for axis in rest_a:
        rows = rows * a.shape[axis]
        shape = (*shape, a.shape[axis])
    for axis in rest_b:
        columns = columns * b.shape[axis]
        shape = (*shape, b.shape[axis])
    left = np.reshape(np.transpose(a, static(rest_a + first)), (rows, inner))
    right = np.reshape(np.transpose(b, static(second + rest_b)), (inner, columns))
    product = left @ right
    if len(shape) == 0:
        return product[0, 0]
    return np.reshape(product, shape)


def _labels(subscripts, ndims):
    """The letters of the axes of each operand, and of the result; a text that says what is wrong.

    >>> _labels("ij, jk", (2, 2))
    (('ij', 'jk'), 'ik')
    >>> _labels("ij->i", (3,))
    'the subscripts ij are for 2 dimensions, and the array has 3'
    """
    left, arrow, output = subscripts.replace(" ", "").partition("->")
    inputs = tuple(left.split(","))
    if not arrow:
        every = "".join(inputs)
        output = "".join(sorted(label for label in every if every.count(label) == 1))
    if len(inputs) != len(ndims):
        return f"{len(inputs)} groups of subscripts for {len(ndims)} arrays"
    for labels, ndim in zip(inputs, ndims, strict=True):
        if not (labels.isalpha() or not labels):
            return f"the subscripts {labels} are not letters: '...' is not known in kernels"
        if len(labels) != ndim:
            count = len(labels)
            return f"the subscripts {labels} are for {count} dimensions, and the array has {ndim}"
    if len(set(output)) != len(output) or not set(output) <= set("".join(inputs)):
        return f"the subscripts {output} of the result are letters of the arrays, each one once"
    return inputs, output


def _pair(labels):
    """The first two axes with the same letter; () if there are none.

    >>> _pair("iji"), _pair("ij")
    ((0, 2), ())
    """
    pairs = [(labels.index(x), i) for i, x in enumerate(labels) if x in labels[:i]]
    return pairs[0] if pairs else ()


def _one_less(labels):
    """The letters after the diagonal along the first such two: it is the last axis.

    >>> _one_less("iji")
    'ji'
    """
    first, second = _pair(labels)
    rest = "".join(x for i, x in enumerate(labels) if i not in (first, second))
    return rest + labels[first]


def _once(labels):
    """Each letter once, in the order in which `_without_repeats` leaves the axes.

    >>> _once("iji"), _once("iijj")
    ('ji', 'ij')
    """
    return _once(_one_less(labels)) if _pair(labels) else labels


def _without_repeats(a, labels):
    """The diagonals along axes with the same letter."""
    repeats = static(len(labels) - len(_once(labels)))
    for _ in static(range(repeats)):
        pair = static(_pair(labels))
        a = diagonal(a, 0, pair[0], pair[1])
        labels = static(_one_less(labels))
    return a


def _summed(a, labels, rest):
    """The sums along the axes whose letters do not come again."""
    axes = static(tuple(i for i, label in enumerate(labels) if label not in rest))
    if len(axes) == 0:
        return a
    return np.sum(a, axis=axes)


def _contracted(a, a_labels, b, b_labels, rest):
    """Two arrays as one, whose letters are those of both that come again, in their order."""
    a_kept = static("".join(x for x in a_labels if x in b_labels or x in rest))
    b_kept = static("".join(x for x in b_labels if x in a_labels or x in rest))
    left, right = _summed(a, a_labels, a_kept), _summed(b, b_labels, b_kept)
    shared = static("".join(x for x in a_kept if x in b_kept))
    is_product = static(
        bool(shared) and not set(shared) & set(rest) and shared not in (a_kept, b_kept)
    )
    if is_product:
        first = static(tuple(a_kept.index(x) for x in shared))
        second = static(tuple(b_kept.index(x) for x in shared))
        return tensordot(left, right, (first, second))
    together = static(a_kept + "".join(x for x in b_kept if x not in a_kept))
    products = _aligned(left, a_kept, together) * _aligned(right, b_kept, together)
    return _summed(products, together, rest)


def _aligned(a, labels, together):
    """The array with its axes in the order of some letters, and new ones for those it has not."""
    if len(labels) == 0:
        return a
    a = np.transpose(a, static(tuple(labels.index(x) for x in together if x in labels)))
    for i in static(range(len(together))):
        if together[i] not in labels:
            a = moveaxis(a[np.newaxis], 0, i)
    return a


def _joined(a_labels, b_labels, rest):
    """The letters of what `_contracted` returns.

    >>> _joined("ij", "jk", "ik")
    'ik'
    """
    more = "".join(x for x in b_labels if x not in a_labels)
    return "".join(x for x in a_labels + more if x in rest)


def einsum(subscripts, *operands):
    """The sums of products that subscripts describe: `"ij,jk->ik"` is a product of matrices."""
    given = static(subscripts)
    if not isinstance(given, str):
        refuse("the subscripts of np.einsum are a text")
    ndims = ()
    for each in operands:
        ndims = (*ndims, np.ndim(each))
    plan = static(_labels(given, ndims))
    if isinstance(plan, str):
        refuse("np.einsum: {}", plan)
    inputs, output = plan[0], plan[1]
    count = len(inputs)
    result = _without_repeats(operands[0], inputs[0])
    labels = static(_once(inputs[0]))
    for i in static(range(1, count)):
        rest = static(output + "".join(inputs[i + 1 :]))
        more = static(_once(inputs[i]))
        result = _contracted(result, labels, _without_repeats(operands[i], inputs[i]), more, rest)
        labels = static(_joined(labels, more, rest))
    result = _summed(result, labels, output)
    if len(output) < 2:
        return result
    left = static("".join(x for x in labels if x in output))
    return np.transpose(result, static(tuple(left.index(x) for x in output)))


ROWS: Final[tuple[LibraryFunction, ...]] = (
    row(tensordot, limits="The axes are known at compile time."),
    row(einsum, limits="A text of subscripts, without '...'; no `optimize` and `out`."),
)
