/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What ratcp.bpf.c finds where it is compiled into a kernel, in place of the file of this name that lies beside it for
 * BPF: the kernel's own types, and for BPF's map the table of ratcp.c.
 */
#ifndef VARICAP_KERNEL_H
#define VARICAP_KERNEL_H

#include <linux/jiffies.h>
#include <linux/tcp.h>
#include <net/tcp.h>

#define SEC(name) __maybe_unused
#define BITS(object, field) ((object)->field)

/* A map is only declared; entries are found by `ratcp_find`. */
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
#define BPF_MAP_TYPE_HASH 1
#define BPF_F_NO_PREALLOC 1

static void *ratcp_find(const u64 *cookie);
#define bpf_map_lookup_elem(map, key) ratcp_find(key)
#define bpf_jiffies64() get_jiffies_64()

#endif
