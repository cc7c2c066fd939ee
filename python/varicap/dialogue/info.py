"""What `TCP_INFO` shows of a connection, as far as the simulated one knows it."""

from varicap.dialogue import accurate
from varicap.dialogue.accurate import Accurate
from varicap.dialogue.asserts import Known
from varicap.dialogue.connection import Connection

_STATES = [
    "ESTABLISHED",
    "SYN_SENT",
    "SYN_RECV",
    "FIN_WAIT1",
    "FIN_WAIT2",
    "TIME_WAIT",
    "CLOSE",
    "CLOSE_WAIT",
    "LAST_ACK",
    "LISTEN",
    "CLOSING",
]
_CONGESTION = ("open", "disorder", "cwr", "recovery", "loss")
_INFINITE = 0x7FFFFFFF

CONSTANTS: dict[str, Known] = {
    **{f"TCP_{name}": number for number, name in enumerate(_STATES, 1)},
    **{f"TCP_CA_{name}": number for number, name in enumerate(("Open", "Disorder", "CWR", "Recovery", "Loss"))},
    "TCPI_OPT_TIMESTAMPS": 1,
    "TCPI_OPT_SACK": 2,
    "TCPI_OPT_WSCALE": 4,
    "TCPI_OPT_ECN": 8,
    "TCP_INFINITE_SSTHRESH": _INFINITE,
}
"""Names that a block may use beside those of `TCP_INFO`."""

_MARKS = ("ce", "e0_bytes", "ce_bytes", "e1_bytes")
"""What AccECN counts, of what was delivered to the peer and of what was received from it."""

NAMES = frozenset(
    "tcpi_" + name
    for name in [
        "state",
        "ca_state",
        "retransmits",
        "backoff",
        "options",
        "snd_wscale",
        "rcv_wscale",
        "rto",
        "snd_mss",
        "advmss",
        "unacked",
        "sacked",
        "lost",
        "retrans",
        "last_data_sent",
        "last_data_recv",
        "last_ack_recv",
        "rtt",
        "min_rtt",
        "snd_ssthresh",
        "snd_cwnd",
        "total_retrans",
        "bytes_sent",
        "bytes_retrans",
        "segs_out",
        "segs_in",
        "data_segs_out",
        "data_segs_in",
        "notsent_bytes",
        "snd_wnd",
        "reordering",
        "reord_seen",
        "delivery_rate",
        "delivery_rate_app_limited",
        *(f"{side}_{what}" for side in ("delivered", "received") for what in _MARKS),
    ]
)
"""The names of `TCP_INFO` that a simulated connection has; a script that asks for others is skipped."""


def info(connection: Connection, now: float) -> dict[str, Known]:
    """The values of `NAMES`, without those that the connection cannot know."""
    sender, peer, counts = connection.sender, connection.peer, connection.counts
    mss, ssthresh, beliefs = connection.segment_size, sender.ssthresh, sender.beliefs
    standing = connection.standing()
    flags = (peer.stamps, peer.sack, peer.scale is not None, peer.ecn)
    # A FIN that left alone is a segment behind the data.
    una = connection.una + connection.ours.done
    unacked = {record.start for record in connection.records if record.end > una}
    values: dict[str, Known] = {
        "state": _STATES.index(connection.state) + 1,
        "ca_state": _CONGESTION.index(standing.state) if standing.state in _CONGESTION else 0,
        "retransmits": sender.expiries,
        "backoff": sender.expiries,
        "options": sum(1 << bit for bit, flag in enumerate(flags) if flag),
        "snd_wscale": peer.scale or 0,
        "rcv_wscale": (connection.host.window_scale() or 0) if peer.scale is not None else 0,
        "rto": round(sender.rto_s * 1e6),
        "snd_mss": mss,
        "advmss": connection.host.mss,
        "unacked": len(unacked),
        "last_data_sent": _since(counts.last_data_out, now),
        "last_data_recv": _since(counts.last_data_in, now),
        "last_ack_recv": _since(counts.last_ack_in, now),
        "rtt": round((sender.smoothed_rtt_s or 0.0) * 1e6),
        "snd_ssthresh": _INFINITE if ssthresh is None else ssthresh // mss,
        "snd_cwnd": sender.cwnd // mss,
        "total_retrans": sender.counters["retransmitted_packets"],
        "bytes_sent": counts.bytes_out,
        "bytes_retrans": counts.bytes_resent,
        "segs_out": counts.segments_out,
        "segs_in": counts.segments_in,
        "data_segs_out": counts.data_out,
        "data_segs_in": counts.data_in,
        "notsent_bytes": connection.written - connection.sent_end,
        "snd_wnd": connection.window,
    }
    if connection.counting is not None:
        values |= _marks(connection, connection.counting)
    values |= _delivery_rate(sender.delivery_rate, mss)
    if sender.min_rtt_s is not None:
        values["min_rtt"] = round(sender.min_rtt_s * 1e6)
    if sender.order is not None:
        values["reordering"], values["reord_seen"] = sender.order
    if beliefs is not None:
        values |= {name: -(-size // mss) for name, size in zip(("sacked", "lost", "retrans"), beliefs, strict=True)}
    return {f"tcpi_{name}": value for name, value in values.items()}


def _marks(connection: Connection, counting: Accurate) -> dict[str, Known]:
    """What both sides have counted of ECN's codepoints: packets that were marked, and payload [B]."""
    fields = zip(_MARKS[1:], accurate.BYTES, strict=True)
    packets, received = connection.receiver.ecn_counts or (accurate.FIRST_CE_COUNT, (1, 0, 1))
    ours = [packets - accurate.FIRST_CE_COUNT, received[0] - 1, received[1], received[2] - 1]
    return {
        "delivered_ce": connection.sender.counters["reported_marks"] + counting.marks,
        **{f"delivered_{name}": counting.delivered[key] for name, key in fields},
        **{f"received_{name}": value for name, value in zip(_MARKS, ours, strict=True)},
    }


def _delivery_rate(measured: tuple[int, float, bool] | None, mss: int) -> dict[str, Known]:
    """In bytes a second, of whole segments in whole microseconds; the application limits what has no sample yet."""
    delivered, interval_s, is_limited = measured or (0, 1.0, True)
    rate = -(-delivered // mss) * mss * 1_000_000 // max(int(interval_s * 1e6 + 1e-3), 1)
    return {"delivery_rate": rate, "delivery_rate_app_limited": int(is_limited)}


def _since(at: float | None, now: float) -> int:
    return 0 if at is None else round((now - at) * 1e3)
