/* SPDX-License-Identifier: GPL-2.0 */
/* Comes before um_arch.c: boot.c stands in front of its setup_arch(). */
#include <linux/init.h>

void um_setup_arch(char **cmdline_p);
#define setup_arch um_setup_arch
