// SPDX-License-Identifier: GPL-2.0
/*
 * What varicap adds to the host's side of User-mode Linux, so that a run depends on its seed and on nothing else, and
 * ends with whoever started it. Two parameters: varicap.seed=NUMBER, varicap.parent=PID.
 *
 * Nothing here is called by name from the kernel: `getrandom` stands in front of the C library's, and the constructor
 * runs before main().
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

void varicap_begin(int argc, char **argv, char **envp);

static int seeded;
static uint64_t state;

/* SplitMix64 (Steele, Lea and Flood 2014): from one number all that the kernel stirs into its own generator. */
static uint64_t next_number(void)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	unsigned char *to = buffer;
	size_t done;

	if (!seeded)
		return syscall(SYS_getrandom, buffer, length, flags);
	for (done = 0; done < length; done += sizeof(uint64_t)) {
		uint64_t number = next_number();
		size_t left = length - done;

		memcpy(to + done, &number, left < sizeof(number) ? left : sizeof(number));
	}
	return length;
}

static char *parameter(int argc, char **argv, const char *name)
{
	size_t length = strlen(name);
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strncmp(argv[i], name, length) == 0)
			return argv[i] + length;
	return NULL;
}

/* The C library calls it before main(), with main()'s arguments. */
__attribute__((constructor)) void varicap_begin(int argc, char **argv, char **envp)
{
	char *seed = parameter(argc, argv, "varicap.seed=");
	char *parent = parameter(argc, argv, "varicap.parent=");
	int now;

	if (seed) {
		seeded = 1;
		state = strtoull(seed, NULL, 0);
	}
	if (parent) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != atoi(parent))
			_exit(1);
	}
	/* Where the kernel lies in memory decides how much it has, and how pointers hash. */
	now = personality(0xffffffff);
	if (now != -1 && !(now & ADDR_NO_RANDOMIZE) && personality(now | ADDR_NO_RANDOMIZE) != -1 &&
	    (personality(0xffffffff) & ADDR_NO_RANDOMIZE))
		execve("/proc/self/exe", argv, envp);
	/* No run knows the number of a process of the host. */
	if (parent)
		*parent = '\0';
}
