/*
 * eal_log: what DPDK logs, kept in memory, because its calls return little more than
 * -1: an error of ours quotes the last lines. Any thread may log.
 */
#ifndef NINES_EAL_LOG_H
#define NINES_EAL_LOG_H

#include <stddef.h>

/* Takes DPDK's log from now on. -errno. */
int eal_log_capture(void);

/* Forgets what was logged, before a call whose log is of interest. */
void eal_log_clear(void);

/* What was logged since then, at most its last `lines` lines, joined by "; ". */
void eal_log_last(char *text, size_t size, unsigned lines);

#endif
