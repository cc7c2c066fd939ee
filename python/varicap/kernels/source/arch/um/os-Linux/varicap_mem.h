/* SPDX-License-Identifier: GPL-2.0 */
/* Comes before mem.c: the guest's memory has no name in any folder, so that nothing of it can be left behind. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#undef O_TMPFILE
#define mkstemp(name) memfd_create("varicap", MFD_CLOEXEC)
#define unlink(name) 0
