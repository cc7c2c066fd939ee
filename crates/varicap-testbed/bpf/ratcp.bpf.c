/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RATCP inside Linux: a window that follows the rate which the network advertises. Source: [ratcp, §II].
 *
 * The rules are those of crates/varicap-tcp/src/congestion/ratcp.rs, in whole packets; that file explains them. What
 * differs is the kernel's: its RTT in microseconds, its recovery, and that a new rate is heard with the next
 * acknowledgement. The emulator writes a rate into `told` before the acknowledgement that carries it.
 */
#include "kernel.h"

char LICENSE[] SEC("license") = "GPL";

/* No rate is known, or no window from it. */
#define UNKNOWN_RATE (~0ULL)
#define UNKNOWN (~0U)
/* Beyond these a product would not fit: 1.1 Tb/s, and 8.4 s. */
#define MOST_RATE (1ULL << 40)
#define MOST_RTT (1U << 23)

/* Which RTT is multiplied with the rate. */
enum { RTT_BASE, RTT_SMOOTHED, RTT_KNOWN };

/* What a connection is told; `Told` in src/bpf/ratcp.rs. */
struct told {
	u64 rate;      /* [b/s] */
	u32 known_rtt; /* [us] */
	u32 wire;      /* a full packet on the wire [B] */
	u32 beta;      /* target backlog [packets] */
	u8 rtt;
	u8 pacing;
	u16 restart;   /* window after an idle time [packets]; 0: idle times change nothing */
};

/* By the cookie of its socket, which no other socket of this machine has until it boots again. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, u64);
	__type(value, struct told);
} told SEC(".maps");

/* Which rules hold, as `Phase` in ratcp.rs. Zero first: a socket begins with zeroes. */
enum { OPEN, INACTIVE, AVOIDANCE };

/* What a connection remembers, in its icsk_ca_priv. */
struct memory {
	u64 bytes_acked; /* at the last acknowledgement */
	u64 rate;        /* [b/s] */
	u32 rate_window; /* [packets] */
	u32 window;      /* cwnd, as the rules have it [packets] */
	u32 count;       /* packets acknowledged on the way to the next packet of window */
	u8 phase;
	u8 state;        /* the kernel's, TCP_CA_* */
	u8 resend;       /* the window must let one segment out */
	u8 zero;
};

static inline struct memory *memory_of(struct sock *sk)
{
	return (struct memory *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static inline struct told *told_to(struct sock *sk)
{
	u64 cookie = sk->__sk_common.skc_cookie.counter;

	return bpf_map_lookup_elem(&told, &cookie);
}

static inline u32 in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

static inline void set_window(struct memory *m, u32 window)
{
	m->window = window ? window : 1;
	m->count = 0;
}

/* cwnd = min(cwnd, W_rate), and congestion avoidance is entered, inactive at first. Source: [ratcp, §II.B]. */
static inline void clip(struct memory *m)
{
	if (m->rate_window < m->window) {
		set_window(m, m->rate_window);
		m->phase = INACTIVE;
	}
}

/* The RTT for W_rate [us]; 0: none is known yet. */
static inline u32 rtt_of(const struct tcp_sock *tp, const struct told *t)
{
	if (t->rtt == RTT_KNOWN)
		return t->known_rtt;
	if (t->rtt == RTT_SMOOTHED)
		return tp->srtt_us >> 3;
	return tp->srtt_us ? tp->rtt_min.s[0].v : 0;
}

/* W_rate = floor(R * RTT / packet) + beta [packets]. Source: [ratcp, §II.A]. */
static inline u32 rate_window(u64 rate, u32 rtt, const struct told *t)
{
	u64 packet = (u64)t->wire * 8 * 1000000;
	u64 packets;

	if (rate == UNKNOWN_RATE || !rtt || !packet)
		return UNKNOWN;
	rate = rate < MOST_RATE ? rate : MOST_RATE;
	rtt = rtt < MOST_RTT ? rtt : MOST_RTT;
	packets = rate * rtt / packet + t->beta;
	if (packets >= UNKNOWN)
		return UNKNOWN - 1;
	return packets ? packets : 1;
}

/*
 * The rate as payload per second, which is what the kernel paces by. At least a packet in a round trip: a packet that
 * waits for its time does not hear of a better rate.
 */
static inline u64 pacing_rate(const struct tcp_sock *tp, const struct told *t)
{
	u64 mss = tp->mss_cache, wire = t->wire, rtt = tp->srtt_us >> 3;
	u64 rate, least;

	if (t->rate == UNKNOWN_RATE || !wire)
		return ~0UL;
	rate = (t->rate < MOST_RATE ? t->rate : MOST_RATE) / 8 * mss / wire;
	least = rtt ? mss * 1000000 / rtt : mss;
	return rate > least ? rate : least;
}

/* Takes in what the network told last. */
static inline void hear(struct sock *sk, const struct tcp_sock *tp, struct memory *m)
{
	struct told *t = told_to(sk);

	if (!t) {
		m->rate_window = UNKNOWN;
		return;
	}
	m->rate_window = rate_window(t->rate, rtt_of(tp, t), t);
	if (t->pacing) {
		sk->sk_pacing_status = SK_PACING_NEEDED;
		sk->sk_pacing_rate = pacing_rate(tp, t);
	}
	clip(m);
}

/* Whether the window is what keeps the sender from sending more. */
static inline int is_limited(struct sock *sk, const struct tcp_sock *tp, const struct memory *m)
{
	/* A paced sender does not fill its window, unless the application has nothing more. */
	if (sk->sk_pacing_status != SK_PACING_NONE)
		return !tp->app_limited;
	if (m->phase == OPEN && m->window < tp->snd_ssthresh && m->window < 2 * tp->max_packets_out)
		return 1;
	return BITS(tp, is_cwnd_limited);
}

/* Whole packets: a short one counts as one, as in Linux. */
static inline u32 packets_of(const struct tcp_sock *tp, u64 bytes)
{
	u32 mss = tp->mss_cache ? tp->mss_cache : 1;

	return (bytes + mss - 1) / mss;
}

/* A packet of window for each window that was acknowledged: `Steps` in counting.rs, as Linux's Reno counts. */
static inline void advance(struct memory *m, u32 acked)
{
	u32 steps;

	if (m->count >= m->window) {
		m->count = 0;
		m->window++;
	}
	m->count += acked;
	steps = m->count / m->window;
	m->count -= steps * m->window;
	m->window += steps;
}

/* `acked` packets of new data were acknowledged: Reno's window, up to W_rate. */
static inline void grow(const struct tcp_sock *tp, struct memory *m, u32 acked, u32 in_flight_before)
{
	if (m->phase == OPEN && m->window < tp->snd_ssthresh) {
		u32 room = tp->snd_ssthresh - m->window;

		m->window += acked < room ? acked : room;
		clip(m);
		return;
	}
	/* More is outstanding than the window: an acknowledgement that only makes up for the reduction. */
	if (m->phase == INACTIVE && in_flight_before > m->window)
		return;
	if (m->phase == INACTIVE)
		m->phase = AVOIDANCE;
	if (m->window < m->rate_window)
		advance(m, acked);
}

SEC("struct_ops")
void ratcp_init(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct memory *m = memory_of(sk);

	m->bytes_acked = tp->bytes_acked;
	m->phase = OPEN;
	m->state = TCP_CA_Open;
	m->resend = 0;
	set_window(m, tp->snd_cwnd);
	hear(sk, tp, m);
}

/* Called for each acknowledgement, in place of the kernel's own rules for the window. */
SEC("struct_ops")
void ratcp_control(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	const struct rate_sample *rs = (const struct rate_sample *)ctx[3];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct memory *m = memory_of(sk);
	u64 newly_acked = tp->bytes_acked - m->bytes_acked;
	u32 window;

	m->bytes_acked = tp->bytes_acked;
	hear(sk, tp, m);
	if (m->state == TCP_CA_Recovery || m->state == TCP_CA_CWR) {
		/* RFC 6582 §3.2: a partial acknowledgement resends the next hole, whatever the window says. */
		if (newly_acked && !BITS(tp, rx_opt.sack_ok))
			m->resend = m->state == TCP_CA_Recovery;
	} else if (newly_acked && is_limited(sk, tp, m)) {
		grow(tp, m, packets_of(tp, newly_acked), rs->prior_in_flight);
	}
	window = m->window;
	if (m->resend && window <= in_flight(tp))
		window = in_flight(tp) + 1;
	m->resend = 0;
	tp->snd_cwnd = window < tp->snd_cwnd_clamp ? window : tp->snd_cwnd_clamp;
}

/* Half for each RTO without anything sent, as the kernel's tcp_cwnd_restart, down to the window of the restart. */
static inline u32 decayed(u32 window, u32 restart, s32 idle, u32 rto)
{
	int i;

	for (i = 0; i < 32 && window > restart && idle > (s32)rto; i++) {
		idle -= rto;
		window >>= 1;
		window = window > restart ? window : restart;
	}
	return window;
}

/*
 * Something is sent after nothing was in flight. The kernel leaves idle times to a control that replaces its rules.
 * RFC 5681 §4.1: slow start from there, up to where the rate allows.
 */
SEC("struct_ops")
void ratcp_event(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct memory *m = memory_of(sk);
	struct told *t = told_to(sk);
	u32 window;

	if ((u32)ctx[1] != CA_EVENT_TX_START || !t || !t->restart)
		return;
	window = decayed(m->window, t->restart, (u32)bpf_jiffies64() - tp->lsndtime, icsk->icsk_rto);
	if (window >= m->window)
		return;
	if (m->rate_window != UNKNOWN)
		tp->snd_ssthresh = m->rate_window;
	m->phase = OPEN;
	set_window(m, window);
	tp->snd_cwnd = window;
}

/* After a timeout ssthresh is W_rate; without a rate it is RFC 5681's (4). */
SEC("struct_ops")
u32 ratcp_ssthresh(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct memory *m = memory_of((struct sock *)ctx[0]);
	u32 half = tp->packets_out / 2;

	if (m->rate_window != UNKNOWN)
		return m->rate_window;
	return half > 2 ? half : 2;
}

SEC("struct_ops")
void ratcp_state(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct memory *m = memory_of((struct sock *)ctx[0]);
	u8 state = ctx[1], before = m->state;

	m->state = state;
	if (state == TCP_CA_Loss) {
		/* [ratcp, §II.B]: ssthresh is W_rate at the timeout, of whichever expiry. */
		if (m->rate_window != UNKNOWN)
			tp->snd_ssthresh = m->rate_window;
		m->phase = OPEN;
		set_window(m, tp->snd_cwnd);
		return;
	}
	if ((state != TCP_CA_Recovery && state != TCP_CA_CWR) || before >= TCP_CA_CWR)
		return;
	/* RFC 5681 §3.2 (3): the lost segment is sent at once. */
	m->resend = state == TCP_CA_Recovery;
	if (m->rate_window == UNKNOWN) {
		m->phase = OPEN;
		set_window(m, tp->snd_ssthresh);
		return;
	}
	/* [ratcp, §II.B]: cwnd = min(cwnd, W_rate) instead of half. */
	set_window(m, m->window);
	clip(m);
	if (m->phase == OPEN)
		m->phase = AVOIDANCE;
}

/* The loss was none: back to the window before it; the next acknowledgement cuts it to W_rate. */
SEC("struct_ops")
u32 ratcp_undo(u64 *ctx)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct memory *m = memory_of((struct sock *)ctx[0]);

	if (tp->prior_cwnd > m->window)
		set_window(m, tp->prior_cwnd);
	return m->window;
}

/* Packets leave one by one, as they do in the simulator. */
SEC("struct_ops")
u32 ratcp_segments(void)
{
	return 1;
}

/* The loader gives each process a name of its own. A link: it is gone with the process that holds it. */
SEC(".struct_ops.link")
struct tcp_congestion_ops ratcp = {
	.init = (void *)ratcp_init,
	.cong_control = (void *)ratcp_control,
	.ssthresh = (void *)ratcp_ssthresh,
	.set_state = (void *)ratcp_state,
	.cwnd_event = (void *)ratcp_event,
	.undo_cwnd = (void *)ratcp_undo,
	.min_tso_segs = (void *)ratcp_segments,
	.name = "ratcp",
	.flags = TCP_CONG_NON_RESTRICTED,
};
