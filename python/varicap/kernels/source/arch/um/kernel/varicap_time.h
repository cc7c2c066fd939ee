/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Comes before time.c: the clock counts nanoseconds instead of steps of 256, and reading it takes one instead of 256;
 * timers may be as near. Some time it has to take, or a program that waits for it to pass would wait for ever.
 *
 * Where processor time costs none, no tick of the clock interrupts a program, so that the host's process behind it need
 * not be signalled (and stopped twice more).
 */
#include <linux/time-internal.h>
#include <os.h>

#undef TIMER_MULTIPLIER
#define TIMER_MULTIPLIER 1
#undef TIMER_MIN_DELTA
#define TIMER_MIN_DELTA 1

#define os_alarm_process(pid)                                                                                          \
	do {                                                                                                           \
		if (time_travel_mode != TT_MODE_INFCPU)                                                                \
			os_alarm_process(pid);                                                                         \
	} while (0)
