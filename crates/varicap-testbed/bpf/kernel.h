/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The little of the kernel that a congestion control touches. Only names matter here: offsets and sizes are those of
 * the running kernel, filled in when the program is loaded (CO-RE).
 */
#ifndef VARICAP_KERNEL_H
#define VARICAP_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define CORE __attribute__((preserve_access_index))
/* A function that is not called but copied: no program here is long. */
#define inline inline __attribute__((always_inline))

/* How libbpf reads the definition of a map. */
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name

#define BPF_MAP_TYPE_HASH 1
#define BPF_F_NO_PREALLOC 1

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*const bpf_jiffies64)(void) = (void *)118;

/* The value of a bit field, wherever the running kernel has it: loaded with what surrounds it, and cut out. */
#define FIELD_BYTE_OFFSET 0
#define FIELD_BYTE_SIZE 1
#define FIELD_LSHIFT_U64 4
#define FIELD_RSHIFT_U64 5
#define BITS(object, field)                                                                          \
	({                                                                                           \
		const void *at = (const void *)(object) +                                            \
				 __builtin_preserve_field_info((object)->field, FIELD_BYTE_OFFSET);  \
		u64 bits = 0;                                                                        \
		switch (__builtin_preserve_field_info((object)->field, FIELD_BYTE_SIZE)) {           \
		case 1: bits = *(const u8 *)at; break;                                               \
		case 2: bits = *(const u16 *)at; break;                                              \
		case 4: bits = *(const u32 *)at; break;                                              \
		case 8: bits = *(const u64 *)at; break;                                              \
		}                                                                                    \
		bits << __builtin_preserve_field_info((object)->field, FIELD_LSHIFT_U64) >>          \
			__builtin_preserve_field_info((object)->field, FIELD_RSHIFT_U64);            \
	})

enum {
	TCP_CA_Open = 0,
	TCP_CA_Disorder = 1,
	TCP_CA_CWR = 2,
	TCP_CA_Recovery = 3,
	TCP_CA_Loss = 4,
};

/* Of enum tcp_ca_event: the first segment after nothing was in flight. */
#define CA_EVENT_TX_START 0

#define SK_PACING_NONE 0
#define SK_PACING_NEEDED 1
#define TCP_CONG_NON_RESTRICTED 1

struct sock_common {
	struct {
		s64 counter;
	} CORE skc_cookie;
} CORE;

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	u32 sk_pacing_status;
} CORE;

struct inet_connection_sock {
	u32 icsk_rto;
	u64 icsk_ca_priv[13];
} CORE;

struct minmax_sample {
	u32 t;
	u32 v;
} CORE;

struct minmax {
	struct minmax_sample s[3];
} CORE;

struct tcp_options_received {
	u16 sack_ok : 3;
} CORE;

struct tcp_sock {
	struct tcp_options_received rx_opt;
	struct minmax rtt_min;
	u64 bytes_acked;
	u32 mss_cache;
	u32 srtt_us;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 packets_out;
	u32 retrans_out;
	u32 sacked_out;
	u32 lost_out;
	u32 app_limited;
	u32 max_packets_out;
	u32 lsndtime;
	u8 is_cwnd_limited : 1;
} CORE;

struct rate_sample {
	u32 prior_in_flight;
} CORE;

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, u32 event);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	char name[16];
	u32 flags;
} CORE;

#endif
