/* SPDX-License-Identifier: GPL-2.0 */
/* Comes before process.c and mem.c: floating-point registers stay in the process of the host, see varicap_fp.c. */
#include <stddef.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <kern_util.h>
#include <ptrace_user.h>
#include <registers.h>
#include <skas.h>

void varicap_fp_before(int request, int pid);
int varicap_fp_get(int pid, unsigned long *fp, int is_loop);
int varicap_fp_put(int pid, unsigned long *fp, int is_loop);
void varicap_fp_syscall(long number, unsigned long *fp);

#define VARICAP_IS_LOOP (__builtin_strcmp(__func__, "userspace") == 0)
#define ptrace(request, pid, ...) (varicap_fp_before(request, pid), ptrace(request, pid, __VA_ARGS__))
#define get_fp_registers(pid, fp) varicap_fp_get(pid, fp, VARICAP_IS_LOOP)
#define put_fp_registers(pid, fp) varicap_fp_put(pid, fp, VARICAP_IS_LOOP)
#define handle_syscall(regs) (varicap_fp_syscall(PT_SYSCALL_NR((regs)->gp), (regs)->fp), handle_syscall(regs))
