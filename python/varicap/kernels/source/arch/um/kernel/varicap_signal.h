/* SPDX-License-Identifier: GPL-2.0 */
/* Comes before signal.c: fp.c stands in front of its do_signal(). */
#include <linux/ptrace.h>
#include <kern_util.h>

void um_do_signal(struct pt_regs *regs);
#define do_signal um_do_signal
