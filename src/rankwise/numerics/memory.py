"""Free memory, and the refusal of matrices that would not fit into it."""

from __future__ import annotations

import os

from rankwise.exceptions import TooLarge


def refuse_too_large(rows: int, columns: int, what: str, way_out: str, copies: int = 2) -> None:
    """Raise TooLarge if `copies` dense float64 matrices of this shape exceed the free memory."""
    needed = 8 * rows * columns * copies
    available = available_memory()
    if available is not None and needed > available:
        raise TooLarge(
            f"{what} of {rows} x {columns} would take {8 * rows * columns / 1e9:.1f} GB "
            f"({copies} copies are needed, {available / 1e9:.1f} GB are free): {way_out}."
        )


def available_memory() -> int | None:
    """Bytes of free memory, of all memory if the system does not say, else None."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None
