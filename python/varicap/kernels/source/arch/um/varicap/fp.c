// SPDX-License-Identifier: GPL-2.0
/* A signal saves floating-point registers, or ends the thread: see ../os-Linux/skas/varicap_fp.c. */
#include <linux/ptrace.h>
#include <kern_util.h>

void um_do_signal(struct pt_regs *regs);
void varicap_fp_settle(unsigned long *fp);

void do_signal(struct pt_regs *regs)
{
	varicap_fp_settle(regs->regs.fp);
	um_do_signal(regs);
}
