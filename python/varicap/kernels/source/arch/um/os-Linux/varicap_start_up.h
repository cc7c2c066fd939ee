/* SPDX-License-Identifier: GPL-2.0 */
/* Comes before start_up.c: the processes that try out ptrace end with the kernel, too. */
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

static inline int varicap_fork(void)
{
	int parent = getpid();
	int pid = fork();

	if (pid == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent))
		_exit(1);
	return pid;
}
#define fork() varicap_fork()
