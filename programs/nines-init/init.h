/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of nines-init share. */
#ifndef NINES_INIT_H
#define NINES_INIT_H

/* Exit codes of nines-init's own failures, as in env(1), timeout(1) and nsenter(1). */
#define INIT_EXIT_USAGE	     2
#define INIT_EXIT_FAILED     125
#define INIT_EXIT_CANNOT_RUN 126
#define INIT_EXIT_NOT_FOUND  127

#include <stdbool.h>
#include <stdint.h>

/* What keeps processes from the host: the capabilities that they have or can get, whether a program
 * may gain rights when it starts, and the system calls that are refused. */
struct walls {
	uint64_t capabilities; /* the bounding set, capabilities(7) */
	bool no_new_privs;
	unsigned filters; /* of system calls */
	int filter; /* instructions of the one that was read; 0 for none */
};

/* Sets up the namespaces in which it was started, then reaps until SIGTERM. */
int node__main(int argc, char **argv);
/* Makes the host's settings read-only in a container that is being made. */
int lock__main(const char *root, const char *sysfs);
/* Holds the network namespace in which it was started, until SIGTERM. */
int host__main(void);
/* Reaps children until SIGTERM; the kernel then ends what is left in the namespace. */
int reaper__main(void);
/* Writes a number to a file and keeps it open until SIGTERM. */
int hold__main(const char *path, const char *number);
/* Joins a node and runs a command in it. */
int enter__main(int argc, char **argv);
/* Runs a command whose processes end with it and with its starter, who holds the other end of the
 * pipe at descriptor 3. */
int leash__main(char **command);
/* Keeps the output of a container, and how its first process ends. */
int keep__main(char **arguments);
/* Stands for runc where a manager of containers calls it. */
int runtime__main(int argc, char **argv);
/* Reads the walls around a process; -1 with errno. */
int walls__of(int pid, struct walls *walls);
/* Puts this process, which has its own, and its future children behind walls, and gives it nothing
 * that it lacks. NULL, or what failed, with errno. Needs CAP_SYS_ADMIN for the filter, CAP_SETPCAP
 * for the rest. */
const char *walls__raise(const struct walls *walls, const struct walls *own);
/* Drops all capabilities outside the set, from the bounding set too; -1 with errno. */
int walls__keep(uint64_t capabilities);
/* Reads a filter of system calls from a file; the number of its instructions, or -1 with errno. */
int seccomp__read(const char *path);
/* Refuses system calls by that filter to this process and its future children; -1 with errno. */
int seccomp__install(int instructions);

#endif
