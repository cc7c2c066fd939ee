"""What the packet log says of datagrams."""

import varicap


def test_datagrams_are_logged_with_the_instant_at_which_they_were_sent() -> None:
    result = varicap.run(
        {
            "duration": "1 s",
            "topology": {"dumbbell": {"forward": {"capacity": "1 Mbit/s", "delay": "7 ms"}}},
            "flows": {"d": {"access_delay": "0 s", "datagrams": {"rate": "100 kbit/s", "size": "125 B"}}},
        },
        packets=True,
    )
    rows = result.packets.select(["event", "time_ns", "sent_at_ns"]).to_pylist()
    sent = {row["sent_at_ns"] for row in rows}
    assert sent == set(range(0, 10**9, 10 * 10**6)) | ({10**9} & sent)
    for row in rows:
        late = {"arrival": 0, "departure": 10**6, "delivery": 8 * 10**6}[row["event"]]
        assert row["time_ns"] - row["sent_at_ns"] == late, row
