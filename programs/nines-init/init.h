/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of nines-init share. */
#ifndef NINES_INIT_H
#define NINES_INIT_H

/* Exit codes of nines-init's own failures, as in env(1), timeout(1) and nsenter(1). */
#define INIT_EXIT_USAGE	     2
#define INIT_EXIT_FAILED     125
#define INIT_EXIT_CANNOT_RUN 126
#define INIT_EXIT_NOT_FOUND  127

/* Sets up the namespaces in which it was started, then reaps until SIGTERM. */
int node__main(int argc, char **argv);
/* Holds the network namespace in which it was started, until SIGTERM. */
int host__main(void);
/* Reaps children until SIGTERM; the kernel then ends what is left in the namespace. */
int reaper__main(void);
/* Writes a number to a file and keeps it open until SIGTERM. */
int hold__main(const char *path, const char *number);
/* Joins a node and runs a command in it. */
int enter__main(int argc, char **argv);
/* Gives this process a policy, such as "fifo:50"; -1 with errno. */
int scheduling__set(const char *text);

#endif
