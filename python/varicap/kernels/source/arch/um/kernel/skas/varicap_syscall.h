/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Comes before syscall.c: a call that fails takes a little time there, so that a program that tries again and again gets
 * on. A microsecond would be seen in what packets do; 20 ns are not.
 */
#include <linux/delay.h>

#define um_udelay(microseconds) um_ndelay(20 * (microseconds))
