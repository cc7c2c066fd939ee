// SPDX-License-Identifier: GPL-2.0
/*
 * RATCP built into a kernel without a compiler for BPF: the program of crates/varicap-testbed/bpf as it is, its entry
 * points called as a congestion control of the kernel, and /dev/ratcp in place of its map.
 *
 * write(cookie of a socket, struct told) tells a connection what the network advertises; write(cookie) forgets it.
 */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/miscdevice.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "ratcp.bpf.c"

struct entry {
	struct rcu_head rcu;
	struct told told;
};

static DEFINE_XARRAY(entries);

static void *ratcp_find(const u64 *cookie)
{
	struct entry *entry = xa_load(&entries, *cookie);

	return entry ? &entry->told : NULL;
}

static void call_init(struct sock *sk)
{
	u64 ctx[] = { (u64)sk };

	ratcp_init(ctx);
}

/* The kernel's versions differ in what they pass between the socket and the sample, of which nothing is used. */
static void call_control(struct sock *sk, const struct rate_sample *rs)
{
	u64 ctx[] = { (u64)sk, 0, 0, (u64)rs };

	ratcp_control(ctx);
}

static void control_of_two(struct sock *sk, const struct rate_sample *rs)
{
	call_control(sk, rs);
}

static void control_of_four(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	call_control(sk, rs);
}

static u32 call_ssthresh(struct sock *sk)
{
	u64 ctx[] = { (u64)sk };

	return ratcp_ssthresh(ctx);
}

static void call_state(struct sock *sk, u8 state)
{
	u64 ctx[] = { (u64)sk, state };

	ratcp_state(ctx);
}

static void call_event(struct sock *sk, enum tcp_ca_event event)
{
	u64 ctx[] = { (u64)sk, event };

	ratcp_event(ctx);
}

#ifdef HAS_TX_START
static void call_tx_start(struct sock *sk)
{
	call_event(sk, CA_EVENT_TX_START);
}
#endif

static u32 call_undo(struct sock *sk)
{
	u64 ctx[] = { (u64)sk };

	return ratcp_undo(ctx);
}

static u32 call_segments(struct sock *sk)
{
	return ratcp_segments();
}

static ssize_t tell(struct file *file, const char __user *from, size_t length, loff_t *at)
{
	struct {
		u64 cookie;
		struct told told;
	} __packed words;
	struct entry *entry, *before;

	if (length != sizeof(words.cookie) && length != sizeof(words))
		return -EINVAL;
	if (copy_from_user(&words, from, length))
		return -EFAULT;
	entry = xa_load(&entries, words.cookie);
	if (length == sizeof(words.cookie)) {
		before = xa_erase(&entries, words.cookie);
		if (before)
			kfree_rcu(before, rcu);
		return before ? length : -ENOENT;
	}
	if (!entry) {
		entry = kzalloc(sizeof(*entry), GFP_KERNEL);
		if (!entry)
			return -ENOMEM;
		entry->told = words.told;
		before = xa_store(&entries, words.cookie, entry, GFP_KERNEL);
		if (xa_is_err(before)) {
			kfree(entry);
			return xa_err(before);
		}
		return length;
	}
	local_bh_disable();
	entry->told = words.told;
	local_bh_enable();
	return length;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.write = tell,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "ratcp",
	.mode = 0666,
	.fops = &operations,
};

static int __init ratcp_begin(void)
{
	int error = misc_register(&device);

	if (error)
		return error;
	ratcp.init = call_init;
	ratcp.cong_control = __builtin_types_compatible_p(typeof(ratcp.cong_control), typeof(&control_of_two)) ?
				     (void *)control_of_two :
				     (void *)control_of_four;
	ratcp.ssthresh = call_ssthresh;
	ratcp.set_state = call_state;
	ratcp.cwnd_event = call_event;
#ifdef HAS_TX_START
	ratcp.cwnd_event_tx_start = call_tx_start;
#endif
	ratcp.undo_cwnd = call_undo;
	ratcp.min_tso_segs = call_segments;
	ratcp.owner = THIS_MODULE;
	return tcp_register_congestion_control(&ratcp);
}
late_initcall(ratcp_begin);
