"""Public paths of kernels: sums for relations, interaction profiles, repairs.

The code is in rankwise.spaces.
"""

from rankwise.spaces.definiteness import repair_kernel
from rankwise.spaces.kernels import Kernel
from rankwise.spaces.node_kernels import InteractionProfile, KernelSum

__all__ = ["InteractionProfile", "Kernel", "KernelSum", "repair_kernel"]
