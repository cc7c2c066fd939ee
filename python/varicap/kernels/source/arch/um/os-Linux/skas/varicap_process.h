/* SPDX-License-Identifier: GPL-2.0 */
/* Comes before process.c: the host's processes behind the guest's programs end with the kernel, however it ends. */
#include <sys/ptrace.h>
#define PTRACE_O_TRACESYSGOOD (0x00000001 | 0x00100000 /* PTRACE_O_EXITKILL */)
