"""Tensors of PyTorch: by dtype, shape, device and content."""

from __future__ import annotations

import sys
from typing import Any, Final

from ..layout import layout_of, state_of
from ..refusal import Refused
from ..static_lookup import find
from ..tokens import Node
from .rule import Kind, RuleContext, derives_from

__all__ = ["KINDS"]

_LABELS: Final = (
    "", ".dtype", ".shape", ".device", ".requires_grad", ".layout", "", ".grad", ".__dict__",
)  # fmt: skip


def _tensor(value: Any, context: RuleContext) -> Node:
    """A tensor: equal values of other strides, and shared or copied memory, make no difference."""
    cls = type(value)
    _check_class(cls)
    parts = (
        context.class_node(cls),
        str(value.dtype),
        tuple(value.shape),
        str(value.device),
        value.requires_grad,
        str(value.layout),
        _content(value.detach()),
        value.grad if value.is_leaf else None,
        state_of(layout_of(cls, object, {}), value),
    )
    return Node(b"tensor", parts, _LABELS.__getitem__)


def _check_class(cls: type) -> None:
    """Refuse classes that run code of their own for every operation on a tensor."""
    torch: Any = sys.modules["torch"]
    hooks = [find(cls, name) for name in ("__torch_function__", "__torch_dispatch__")]
    known = [find(torch.Tensor, name) for name in ("__torch_function__", "__torch_dispatch__")]
    disabled = torch._C._disabled_torch_function_impl
    for hook, usual in zip(hooks, known, strict=True):
        if hook is not usual and getattr(hook, "__func__", hook) is not disabled:
            raise Refused(
                "its class runs code of its own for operations on tensors",
                "Pass the tensors that it holds, or say what stands for it "
                "(whorl.Fingerprinter(rules={Class: function})).",
            )


def _content(value: Any) -> object:
    """The elements as arrays of NumPy."""
    torch: Any = sys.modules["torch"]
    if value.is_meta:
        raise Refused("a tensor on the device 'meta' has no content", "Pass its shape and dtype.")
    if value.is_quantized:
        raise Refused(
            "it is quantized, with parameters that are stored elsewhere",
            "Pass tensor.int_repr() and the parameters of its quantization.",
        )
    if value.layout is torch.sparse_coo:
        value = value.coalesce()
        return [_content(value.indices()), _content(value.values())]
    if value.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [
            _content(part) for part in (value.crow_indices(), value.col_indices(), value.values())
        ]
    if value.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [
            _content(part) for part in (value.ccol_indices(), value.row_indices(), value.values())
        ]
    if value.layout is not torch.strided:
        raise Refused(f"tensors of layout {value.layout} cannot be read", "Pass tensor.to_dense().")
    value = value.cpu().resolve_conj().resolve_neg()
    try:
        return value.numpy()
    except TypeError:  # a dtype that NumPy does not have, such as bfloat16
        return value.reshape(-1).view(torch.uint8).numpy()


KINDS: Final[tuple[Kind, ...]] = ((lambda cls: derives_from(cls, "torch", "Tensor"), _tensor),)
