// SPDX-License-Identifier: Apache-2.0
/*
 * nines-init is pid 1 of every node, and runs commands in nodes:
 *
 *   nines-init node TOKEN HOSTNAME [WALLS] [MOUNT]...        pid 1 of new namespaces
 *   nines-init lxc                                           pid 1 of an LXC container
 *   nines-init lock ROOT ro|rw                               a hook of an OCI container
 *   nines-init host TOKEN HOSTNAME                           holds a host node's interfaces
 *   nines-init hold TOKEN FILE NUMBER                        keeps a setting in force
 *   nines-init enter OPTIONS -- COMMAND [ARGUMENT]...        run a command in a node
 *   nines-init leash COMMAND [ARGUMENT]...                   run what ends with its starter
 *   nines-init keep LOG BYTES ENDED FIFO [COMMAND]...        keep the output of a node
 *   …/nines-runtime RUNC'S ARGUMENTS                         stands for runc (runtime.c)
 *
 * It is static and small, because a lab of a thousand nodes runs a thousand of it. It
 * allocates nothing and reads only the files that a task needs.
 */
#include "init.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
	"usage: nines-init node TOKEN HOSTNAME [walls CAPABILITIES ro|rw|all gain|keep]\n"
	"                       [ro|rw SOURCE TARGET]...\n"
	"       nines-init lxc\n"
	"       nines-init lock ROOT ro|rw\n"
	"       nines-init host TOKEN HOSTNAME\n"
	"       nines-init hold TOKEN FILE NUMBER\n"
	"       nines-init enter --pid PID --start TICKS [--cgroup FILE]... [--cpus LIST]\n"
	"                        [--dir DIR] [--scheduling POLICY:N] [--detach TOKEN]\n"
	"                        [--user UID:GID[:GROUP,...]] [--signals group] [--filter FILE]\n"
	"                        [--program FILE [--capabilities SET]] -- COMMAND [ARGUMENT]...\n"
	"       nines-init leash COMMAND [ARGUMENT]...\n"
	"       nines-init keep LOG BYTES ENDED FIFO [COMMAND [ARGUMENT]...]\n";

int main(int argc, char **argv)
{
	const char *slash = argc >= 1 ? strrchr(argv[0], '/') : NULL;

	if (slash != NULL && strcmp(slash, "/nines-runtime") == 0)
		return runtime__main(argc, argv);
	if (argc >= 4 && strcmp(argv[1], "node") == 0)
		return node__main(argc - 2, argv + 2);
	if (argc == 2 && strcmp(argv[1], "lxc") == 0)
		return reaper__main();
	if (argc == 4 && strcmp(argv[1], "lock") == 0)
		return lock__main(argv[2], argv[3]);
	if (argc == 4 && strcmp(argv[1], "host") == 0)
		return host__main();
	if (argc == 5 && strcmp(argv[1], "hold") == 0)
		return hold__main(argv[3], argv[4]);
	if (argc >= 3 && strcmp(argv[1], "enter") == 0)
		return enter__main(argc - 2, argv + 2);
	if (argc >= 3 && strcmp(argv[1], "leash") == 0)
		return leash__main(argv + 2);
	if (argc >= 6 && strcmp(argv[1], "keep") == 0)
		return keep__main(argv + 2);
	fputs(usage, stderr);
	return INIT_EXIT_USAGE;
}
