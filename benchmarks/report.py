"""The figures of a run as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.latency import Delays

WIDTH = 31  # of the first column of the table of calls
DEEP = 70  # and of the table of delays


@dataclass
class Figures:
    """One call at one server: a figure per round."""

    rates: list[float] = field(default_factory=list)
    p50: list[float] = field(default_factory=list)
    p99: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)  # milliseconds of the server's process per call

    def add(self, times: list[float], seconds: float, cpu: float) -> None:
        """Take in a round: calls' durations, how long it took, processor seconds of the server."""
        self.rates.append(len(times) / seconds)
        self.p50.append(percentile(times, 50) * 1e3)
        self.p99.append(percentile(times, 99) * 1e3)
        self.cpu.append(cpu / len(times) * 1e3)

    def text(self) -> str:
        """The medians of the rounds."""
        return (
            f"{median(self.rates):7.0f}/s {median(self.p50):7.1f} {median(self.p99):7.1f} "
            f"{median(self.cpu):6.2f}"
        )


def percentile(values: Sequence[float], percent: int) -> float:
    """The value below which that share of `values` lies."""
    return sorted(values)[min(len(values) * percent // 100, len(values) - 1)]


def heading() -> str:
    """The first lines of the table of calls."""
    columns = "rate  p50 ms  p99 ms CPU ms"
    return (
        f"{'':{WIDTH}}  {'Relayger':^32}   {'a2a-sdk server':^32}\n"
        f"{'call':{WIDTH}}  {columns:>32}   {columns:>32}   ratio (each round)"
    )


def row(name: str, ours: Figures, theirs: Figures) -> str:
    """One line of the table of calls; the ratio is the median of the rounds' own."""
    ratios = [mine / other for mine, other in zip(ours.rates, theirs.rates, strict=True)]
    spread = f"{min(ratios):.1f} to {max(ratios):.1f}"
    return f"{name:{WIDTH}}  {ours.text():>32}   {theirs.text():>32}   {median(ratios):5.2f} ({spread})"


def waking(measured: dict[str, list[float] | Delays]) -> str:
    """The table of delays, in milliseconds."""
    lines = [f"{'':{DEEP}}  {'median ms':>10} {'p99 ms':>8}"]
    for name, values in measured.items():
        if isinstance(values, Delays):
            lines.append(_delay(f"{name}, from the commit", values.commit))
            lines.append(_delay("  from the answer's sending", values.sent))
        else:
            lines.append(_delay(name, values))
    return "\n".join(lines)


def _delay(name: str, values: list[float]) -> str:
    return f"{name:{DEEP}}  {median(values) * 1e3:10.3f} {percentile(values, 99) * 1e3:8.3f}"
