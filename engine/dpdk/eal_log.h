/*
 * eal_log: keeps DPDK's log in memory, because its calls return little more than -1; our errors
 * quote its last lines. Any thread may log.
 */
#ifndef NINES_EAL_LOG_H
#define NINES_EAL_LOG_H

#include <stddef.h>

/* Captures DPDK's log from now on. -errno. */
int eal_log_capture(void);

/* Clears the log, before a call whose log is of interest. */
void eal_log_clear(void);

/* The log since then, at most its last `lines` lines, joined by "; ". */
void eal_log_last(char *text, size_t size, unsigned lines);

#endif
