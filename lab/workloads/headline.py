"""The figure that a workload's verdict is by. A module declares it, with the reason, before anything is measured."""

from __future__ import annotations

from dataclasses import dataclass

TIME, CPU = "time", "CPU"
P50, P99 = "p50_ns", "p99_ns"
BYTES_EACH, KEPT, KEPT_WHEN_IDLE = "bytes_each", "kept_bytes", "kept_when_idle_bytes"
# Less is given back to the system by one malloc than by another: each runtime is judged with the one that is best here.
MEMORY = (BYTES_EACH, KEPT, KEPT_WHEN_IDLE)


@dataclass(frozen=True)
class Headline:
    """What a case is about."""

    # None: no runtime takes part in it, so it has no verdict.
    figure: str | None
    reason: str
    # What makes the time, where that is not the runtime: then there is no verdict in time.
    time_of: str | None = None
