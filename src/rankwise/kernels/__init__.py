"""The public path of `repair_kernel`; the code is in rankwise.spaces.kernels."""

from rankwise.spaces.kernels import repair_kernel

__all__ = ["repair_kernel"]
