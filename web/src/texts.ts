/** Scenarios of lessons about parts that the sliders do not have. */

export const WIRELESS = `# Reno and CUBIC over a fading link that retransmits (ARQ), each alone on it.
schema_version = 1
name = "wireless"
duration = "60 s"
seeds = 10
isolate = true

[topology.dumbbell.forward]
capacity = "2 Mbit/s"
delay = "40 ms"
queue = { drop-tail = { limit = "30 packets" } }
loss = { rayleigh = { doppler = "10 Hz", delivered = 0.95 } }
arq = {}

[topology.dumbbell.reverse]
delay = "40 ms"

[flows.reno]
tcp = { congestion = "reno" }

[flows.cubic]
tcp = { congestion = "cubic" }
`;

export const RATES = `# EFFCAP, INSTCAP and TCP alone on a link that halves its rate at random, each alone on it.
schema_version = 1
name = "rates"
duration = "60 s"
seeds = 10
isolate = true

[topology.dumbbell.forward]
capacity = { slotted-markov = { rates = ["848 kbit/s", "424 kbit/s"], step = "30 ms", transitions = [[0.85, 0.15], [0.15, 0.85]] } }
service = "at-start"
queue = { drop-tail = { limit = "10 packets" } }

[topology.dumbbell.reverse]
delay = "200 ms"

[tcp]
stack = "rfc"
mss = "440 B"
ack = "every"
max_window = "64 packets"

[flows.effcap]
feedback = { estimator = { effective = { interval = "30 ms", average = "1 rtt", least = "7 rtt" } }, delay = "200 ms" }
abr = {}

[flows.instcap]
feedback = { estimator = { instantaneous = { interval = "30 ms" } }, delay = "200 ms" }
abr = {}

[flows.ratcp]
tcp = { congestion = { ratcp = { beta = "4 packets" } } }
feedback = { estimator = { instantaneous = { interval = "30 ms" } }, delay = "200 ms" }

[flows.reno]
tcp = { congestion = "reno" }
`;

export const RESERVED = `# Three ways to use a reservation, and a flow without one.
schema_version = 1
name = "reserved"
duration = "60 s"
seeds = 10

[topology.dumbbell.forward]
capacity = "10 Mbit/s"
delay = "40 ms"
queue = { ered = { limit = "100 packets", min_threshold = "20 packets", max_threshold = "80 packets" } }

[tcp]
stack = "rfc"
recovery = "sack"

[flows.marking]
reservation = { rate = "3 Mbit/s", bucket = "50 ms" }

[flows.timed]
reservation = { rate = "3 Mbit/s", bucket = "50 ms", timed = { interval = "20 ms" } }

[flows.adaptive]
tcp = { congestion = "rate-adaptive-window" }
reservation = { rate = "3 Mbit/s", bucket = "50 ms", timed = { interval = "20 ms" } }

[flows.best-effort]
`;

export const REACTIVE = `# TCP over a link that adds capacity when its queue grows.
schema_version = 1
name = "reactive"
duration = "60 s"
seeds = 10

[topology.dumbbell.forward]
delay = "20 ms"
queue = { drop-tail = { limit = "50 packets" } }

[topology.dumbbell.forward.capacity.load-reactive]
minimum = "200 kbit/s"
residual = "10 Mbit/s"
interval = "100 ms"

[topology.dumbbell.forward.capacity.load-reactive.control.hysteresis]
low = "4 kB"
high = "12 kB"
increment = "100 kbit/s"
decrement = "100 kbit/s"

[topology.dumbbell.reverse]
delay = "20 ms"

[flows.reno]
tcp = { congestion = "reno" }
`;
