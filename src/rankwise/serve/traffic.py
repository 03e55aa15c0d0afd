"""Counters of requests in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper ends in seconds of the histogram of answer times."""


class Traffic:
    """Requests by address and status, their times, and how many items were ranked."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.items = 0
        self._slots: Counter[tuple[str, int]] = Counter()
        self._seconds: Counter[str] = Counter()

    def count(self, path: str, status: int, seconds: float) -> None:
        self.requests[path, status] += 1
        self._slots[path, bisect_left(BUCKETS, seconds)] += 1
        self._seconds[path] += seconds  # type: ignore[assignment]

    def text(self, more: dict[str, tuple[str, str, float]]) -> str:
        """The page of /metrics; `more` holds help, type and value of further numbers by name."""
        out = _head("rankwise_requests_total", "Requests by address and status.", "counter")
        for (path, status), count in sorted(self.requests.items()):
            out.append(f'rankwise_requests_total{{path="{path}",status="{status}"}} {count}')
        name = "rankwise_request_seconds"
        out += _head(name, "Time from the head of a request to its answer.", "histogram")
        for path in sorted({path for path, _ in self.requests}):
            total = 0
            for slot, end in enumerate((*BUCKETS, float("inf"))):
                total += self._slots[path, slot]
                limit = "+Inf" if end == float("inf") else f"{end:g}"
                out.append(f'{name}_bucket{{path="{path}",le="{limit}"}} {total}')
            out.append(f'{name}_sum{{path="{path}"}} {self._seconds[path]:.6f}')
            out.append(f'{name}_count{{path="{path}"}} {total}')
        items = {"rankwise_items_total": ("Items that were ranked.", "counter", float(self.items))}
        for key, (about, kind, value) in {**items, **more}.items():
            out += [*_head(key, about, kind), f"{key} {value:.15g}"]
        return "\n".join(out) + "\n"


def _head(name: str, about: str, kind: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
