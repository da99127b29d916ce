// SPDX-License-Identifier: Apache-2.0
/* Policies of threads; nines-poller (busypoll/poller) has it, too. */
#ifndef NINES_SCHEDULING_H
#define NINES_SCHEDULING_H

#include <sys/types.h>

/* Gives a thread (0: the caller) a policy: "fifo:50", "other:-5", "idle:0", …; -1 with errno. */
int scheduling__set(pid_t tid, const char *text);

#endif
