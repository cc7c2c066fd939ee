"""A host whose queue is ``fq``, for which Linux's TCP says when each segment leaves. Source: Linux 6.18.

That is ``tcp_update_pacing_rate``, ``tcp_tso_autosize`` and ``tcp_update_skb_after_send``. The sender itself goes on at
once: what small queues (TSQ) would hold back in it waits in the queue here.  Deviation: segments for offload grow no
larger where round trips are shorter than 8 ms (``tcp_tso_rtt_log``), and are no shorter for the limit of 64 kB.
"""

from dataclasses import dataclass

_FREE_SEGMENTS = 10
"""Segments of data until the first gap."""
_RATE_SHIFT = 10
"""A segment for offload holds about what leaves in 1/1024 s."""


@dataclass
class Window:
    """What the rate follows from."""

    cwnd: int
    """Congestion window [B]."""
    in_flight: int
    """What was sent and is not acknowledged [B]."""
    ssthresh: int | None
    """Slow start threshold [B], if there is one."""
    smoothed_rtt_s: float
    mss: int


@dataclass
class FairQueue:
    """When the segments of a connection leave the host."""

    slow_start_percent: int
    avoidance_percent: int
    least_segments: int
    """The least that is put into one segment for offload, if there is so much."""
    free_at: float = 0.0
    """The earliest departure of what comes next [s]."""
    asked_at: float = -1.0
    departure: float = 0.0
    credit: float = 0.0
    size: int = 0
    segments: int = 0
    """Of the latest segment for offload: when it was made and leaves, how late that was, and what is in it."""

    def rate(self, window: Window) -> float:
        """The pacing rate [B/s]."""
        segments = window.cwnd // window.mss
        is_fast = window.ssthresh is None or segments < window.ssthresh // window.mss // 2
        percent = self.slow_start_percent if is_fast else self.avoidance_percent
        return percent / 100 * max(window.cwnd, window.in_flight) / window.smoothed_rtt_s

    def data(self, now: float, size: int, sent_segments: int, window: Window) -> float:
        """When a segment of `size` bytes leaves, which is the one with the number `sent_segments` of its connection."""
        rate = self.rate(window)
        most = max(self.least_segments, (int(rate) >> _RATE_SHIFT) // window.mss)
        if now != self.asked_at or self.segments >= most:
            self.departure = max(now, self.free_at)
            self.credit, self.asked_at, self.size, self.segments = self.departure - self.free_at, now, 0, 0
        self.size += size
        self.segments += 1
        if sent_segments >= _FREE_SEGMENTS:
            gap = self.size / rate
            self.free_at = self.departure + gap - min(gap / 2, self.credit)
        else:
            self.free_at = self.departure
        return self.departure

    def bare(self, now: float) -> float:
        """When a segment without data leaves."""
        return max(now, self.free_at)
