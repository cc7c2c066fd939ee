// SPDX-License-Identifier: GPL-2.0
/*
 * Floating-point registers are left where they are. A program of the guest runs in a process of the host, and the
 * kernel fetched all of that process's registers at each system call and put them back: some kilobytes each way, and
 * more time than everything else that a call takes. Here they are fetched when
 *
 *   - another thread of the program is to run in the same process,
 *   - the process runs something for the kernel, such as mmap(), or
 *   - the kernel looks at them, or writes them: at signals and for the calls below.
 */
#include <asm/unistd.h>
#include <errno.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <registers.h>

void varicap_fp_before(int request, int pid);
int varicap_fp_get(int pid, unsigned long *fp, int is_loop);
int varicap_fp_put(int pid, unsigned long *fp, int is_loop);
void varicap_fp_syscall(long number, unsigned long *fp);
void varicap_fp_settle(unsigned long *fp);

/* Whose registers are in which process. */
struct place {
	int pid;
	unsigned long *fp;
};

static struct place places[64];
#define PLACES (sizeof(places) / sizeof(places[0]))

static struct place *of_process(int pid)
{
	size_t i;

	for (i = 0; i < PLACES; i++)
		if (places[i].fp && places[i].pid == pid)
			return &places[i];
	return NULL;
}

static int settle(struct place *place)
{
	int error = get_fp_registers(place->pid, place->fp);

	place->fp = NULL;
	return error;
}

static struct place *free_place(void)
{
	static size_t next;
	size_t i;

	for (i = 0; i < PLACES; i++)
		if (!places[i].fp)
			return &places[i];
	next = (next + 1) % PLACES;
	settle(&places[next]);
	return &places[next];
}

/* The thread with these registers is about to be looked at. */
void varicap_fp_settle(unsigned long *fp)
{
	size_t i;

	for (i = 0; i < PLACES; i++)
		if (places[i].fp == fp)
			settle(&places[i]);
}

void varicap_fp_before(int request, int pid)
{
	struct place *place;

	if (request != PTRACE_CONT && request != PTRACE_SETOPTIONS && request != 21 /* PTRACE_OLDSETOPTIONS */)
		return;
	place = of_process(pid);
	if (!place)
		return;
	if (request == PTRACE_CONT)
		settle(place);
	else
		/* A new process of that number. */
		place->fp = NULL;
}

int varicap_fp_get(int pid, unsigned long *fp, int is_loop)
{
	struct place *place = of_process(pid);

	if (!is_loop) {
		int error = place ? settle(place) : 0;

		return error ? error : get_fp_registers(pid, fp);
	}
	if (!place)
		place = free_place();
	place->pid = pid;
	place->fp = fp;
	return 0;
}

int varicap_fp_put(int pid, unsigned long *fp, int is_loop)
{
	struct place *place = of_process(pid);
	int error;

	if (place && is_loop && place->fp == fp)
		return 0;
	error = place ? settle(place) : 0;
	return error ? error : put_fp_registers(pid, fp);
}

/* Calls that copy a thread's registers, write them, or end it. */
void varicap_fp_syscall(long number, unsigned long *fp)
{
	switch (number) {
	case __NR_rt_sigreturn:
	case __NR_clone:
	case __NR_fork:
	case __NR_vfork:
	case __NR_clone3:
	case __NR_execve:
	case __NR_execveat:
	case __NR_ptrace:
	case __NR_exit:
	case __NR_exit_group:
		varicap_fp_settle(fp);
	}
}
