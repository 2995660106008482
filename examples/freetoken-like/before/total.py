"""Sum by an atomic: Triton gives every atomic an order and a scope, whatever the GPU."""

import torch
import triton
import triton.language as tl


@triton.jit
def total(source, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(source + at, mask=at < count, other=0.0)))


def sum_of(source):
    out = torch.zeros(1, device=source.device)
    total[(triton.cdiv(source.numel(), 128),)](source, out, source.numel(), BLOCK=128)
    return out
