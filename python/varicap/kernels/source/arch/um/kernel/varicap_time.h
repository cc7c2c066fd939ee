/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Comes before time.c: where processor time costs none, no tick of the clock interrupts a program, so that the host's
 * process behind it need not be signalled (and stopped twice more).
 */
#include <os.h>
#include <timetravel.h>
#define os_alarm_process(pid)                                                                                          \
	do {                                                                                                           \
		if (time_travel_mode != TT_MODE_INFCPU)                                                                \
			os_alarm_process(pid);                                                                         \
	} while (0)
