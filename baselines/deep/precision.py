"""How torch computes: threads, and float32, or bfloat16 where the hardware is fast at it."""

from __future__ import annotations

import torch
from stable_baselines3.common.utils import get_device

from baselines.checks import check

PRECISIONS = ("auto", "float32", "bfloat16")


def set_up_torch(threads: int) -> None:
    """Let torch compute on so many threads, with denormal numbers as 0, for the whole process.

    An optimizer's moments of weights that have come to rest fade through these numbers, where
    processors take thirty times as long for a square root.
    """
    torch.set_flush_denormal(True)  # first: threads that begin later take it over
    torch.set_num_threads(threads)


def half_precision(device: torch.device, is_used: bool) -> torch.autocast:
    """Return a context in which layers compute in bfloat16, if that is used."""
    return torch.autocast(device.type, torch.bfloat16, enabled=is_used)


def check_precision(precision: str) -> None:
    """Check a choice of precision.

    Raises:
        ValueError: If it is none.
    """
    check("precision", precision, precision in PRECISIONS, f"one of {', '.join(PRECISIONS)}")


def uses_bfloat16(precision: str, device: str) -> bool:
    """Return whether to compute in bfloat16: if told so, or if "auto" and the hardware has it.

    A processor that only imitates it is twenty times slower.

    Args:
        precision: One of `PRECISIONS`.
        device: Of torch, or "auto".
    """
    if precision != "auto":
        return precision == "bfloat16"
    is_fast: bool
    if get_device(device).type == "cuda":
        is_fast = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        is_fast = torch.cpu._is_avx512_bf16_supported()
    return is_fast
