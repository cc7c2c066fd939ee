/* SPDX-License-Identifier: GPL-2.0 */
/* Comes before umid.c: no folder ~/.uml, since nobody talks to the guest through it. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* After the C library's, as in umid.c: its macros are not for their declarations. */
#include <init.h>
#undef __initcall
#define __initcall(function) static initcall_t never_called __attribute__((unused)) = function
#undef __uml_exitcall
#define __uml_exitcall(function) static exitcall_t never_called_either __attribute__((unused)) = function
