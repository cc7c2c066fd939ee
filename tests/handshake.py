"""Dialogues that begin with a handshake, which tests of dialogues go on from."""

from typing import Any

from varicap.dialogue import Dialogue, dialogue

HANDSHAKE = """\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK>
+0 > S. 0:0(0) ack 1 <mss 1460,sackOK>
+.1 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
"""
LINES = HANDSHAKE.count("\n")


def after_handshake(*events: str, head: str = "", stack: str = "rfc", **tcp: Any) -> Dialogue:
    return dialogue(text=head + HANDSHAKE + "\n".join(events), stack=stack, **tcp)


def stamped(*events: str) -> Dialogue:
    """After a handshake with timestamps, in which the peer's last was 600."""
    text = HANDSHAKE.replace("sackOK>", "sackOK,TS val 500 ecr 0>", 1)
    text = text.replace("1460,sackOK>", "1460,sackOK,TS val 9000 ecr 500>")
    return dialogue(text=text.replace("win 65535\n", "win 65535 <TS val 600 ecr 9000>\n") + "\n".join(events))
