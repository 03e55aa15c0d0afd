"""The public path of `repair_kernel`; the code is in rankwise.spaces.definiteness."""

from rankwise.spaces.definiteness import repair_kernel

__all__ = ["repair_kernel"]
