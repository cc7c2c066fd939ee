// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A congestion control of one page, to begin one's own from: each round trip the window grows by ALPHA_PER_100 hundredths
 * of a segment, after a loss it falls to BETA_PERCENT of itself. Slow start is Linux's. With 100 and 50 it grows and
 * falls as Reno.
 *
 * varicap run examples/fixed.toml --set 'flows.reno.tcp.congestion={ module = "aimd.c" }' \
 *     --engine kernel --module examples/controls/aimd.c
 */
#include <linux/module.h>
#include <net/tcp.h>

/* Whoever backs off to b instead of a half takes as much as Reno if it grows by 3 (1 - b) / (1 + b) (RFC 9438 4.3). */
#define ALPHA_PER_100 53
#define BETA_PERCENT 70

struct aimd {
	/* Acknowledged segments that have not opened the window yet, a hundred times. */
	u32 credit;
};

static void aimd_init(struct sock *sk)
{
	struct aimd *ca = inet_csk_ca(sk);

	ca->credit = 0;
}

static u32 aimd_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) * BETA_PERCENT / 100, 2U);
}

static void aimd_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct aimd *ca = inet_csk_ca(sk);
	u32 whole;

	/* Only a window that is used says anything about the path. */
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	ca->credit += acked * ALPHA_PER_100;
	whole = 100 * tcp_snd_cwnd(tp);
	if (ca->credit >= whole) {
		ca->credit -= whole;
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp) + 1, tp->snd_cwnd_clamp));
	}
}

static struct tcp_congestion_ops aimd __read_mostly = {
	.init = aimd_init,
	.ssthresh = aimd_ssthresh,
	.cong_avoid = aimd_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.owner = THIS_MODULE,
	.name = "aimd",
};

static int __init aimd_register(void)
{
	BUILD_BUG_ON(sizeof(struct aimd) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&aimd);
}

static void __exit aimd_unregister(void)
{
	tcp_unregister_congestion_control(&aimd);
}

module_init(aimd_register);
module_exit(aimd_unregister);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Additive increase, multiplicative decrease");
