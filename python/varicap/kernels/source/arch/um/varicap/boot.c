// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel stirs its command line into its random numbers. Folders and descriptors stand there, on which no result
 * may depend: with a seed the kernel finds the line empty when it looks for randomness, after everybody has read it.
 */
#include <linux/init.h>
#include <linux/kernel.h>

void um_setup_arch(char **cmdline_p);

static char *line __initdata;

void __init setup_arch(char **cmdline_p)
{
	um_setup_arch(cmdline_p);
	line = *cmdline_p;
}

/* Called as the parameters are read, from a copy; what is random comes next. */
static int __init hide_line(char *seed)
{
	*line = '\0';
	return 1;
}
__setup("varicap.seed=", hide_line);
