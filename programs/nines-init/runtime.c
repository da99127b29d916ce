// SPDX-License-Identifier: Apache-2.0
/*
 * Stands for runc where a manager of containers calls it: podman's conmon, or containerd's shim. It
 * gives the container that is created the configuration that nines has written, and then becomes the
 * real runtime, with the same arguments. Beside it, in the folder of the name by which it is called,
 * are links:
 *
 *   runtime      the real one
 *   config.json  the configuration (config.md of the OCI's runtime-spec)
 *   output       gets what the container prints
 *
 * Options of runc(8) that matter: create [--bundle|-b] FOLDER.
 */
#define _GNU_SOURCE
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* More CPUs than any kernel is built for (CONFIG_NR_CPUS of x86 is at most 8192). */
static unsigned char every_cpu[1024];

static int runtime__fail(const char *what, const char *path)
{
	fprintf(stderr, "nines-runtime: %s %s: %s\n", what, path, strerror(errno));
	return INIT_EXIT_FAILED;
}

/* The path of a file in the folder of another one; -1 with errno. */
static int runtime__beside(char path[PATH_MAX], const char *other, const char *name)
{
	const char *slash = strrchr(other, '/');
	int folder = slash != NULL ? (int)(slash - other) + 1 : 0;

	if (snprintf(path, PATH_MAX, "%.*s%s", folder, other, name) < PATH_MAX)
		return 0;
	errno = ENAMETOOLONG;
	return -1;
}

/* Returns -1 with errno. */
static int runtime__copy(const char *from, const char *to)
{
	ssize_t moved = -1;
	int out = -1;
	int in;

	in = open(from, O_RDONLY | O_CLOEXEC);
	if (in < 0)
		return -1;
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (out < 0)
		goto close_in;
	do
		moved = sendfile(out, in, NULL, 1 << 20);
	while (moved > 0);
	if (close(out) < 0)
		moved = -1;
close_in:
	close(in);
	return moved < 0 ? -1 : 0;
}

/* The folder of the container that is created; NULL for another call. */
static const char *runtime__bundle(int argc, char **argv)
{
	const char *bundle = ".";
	bool creates = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "create") == 0)
			creates = true;
		else if (creates && strncmp(argv[i], "--bundle=", 9) == 0)
			bundle = argv[i] + 9;
		else if (creates && i + 1 < argc &&
			 (strcmp(argv[i], "--bundle") == 0 || strcmp(argv[i], "-b") == 0))
			bundle = argv[++i];
	}
	return creates ? bundle : NULL;
}

static int runtime__give(const char *self, const char *bundle)
{
	char config[PATH_MAX];
	char into[PATH_MAX];
	int output;

	if (runtime__beside(config, self, "config.json") < 0)
		return runtime__fail("find the configuration beside", self);
	if (snprintf(into, sizeof into, "%s/config.json", bundle) >= (int)sizeof into) {
		errno = ENAMETOOLONG;
		return runtime__fail("write to", bundle);
	}
	if (runtime__copy(config, into) < 0)
		return runtime__fail("copy the configuration to", into);
	if (runtime__beside(config, self, "output") < 0)
		return runtime__fail("find the output beside", self);
	output = open(config, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (output < 0)
		return runtime__fail("open", config);
	if (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
		return runtime__fail("write to", config);
	/* The manager is kept on some CPUs. The container's are those of its control group. */
	memset(every_cpu, 0xff, sizeof every_cpu);
	if (syscall(SYS_sched_setaffinity, 0, sizeof every_cpu, every_cpu) < 0)
		return runtime__fail("leave the CPUs of", self);
	return 0;
}

int runtime__main(int argc, char **argv)
{
	char real[PATH_MAX];
	const char *bundle;
	int failed;

	if (runtime__beside(real, argv[0], "runtime") < 0)
		return runtime__fail("find the runtime beside", argv[0]);
	bundle = runtime__bundle(argc, argv);
	if (bundle != NULL) {
		failed = runtime__give(argv[0], bundle);
		if (failed != 0)
			return failed;
	}
	argv[0] = real;
	execv(real, argv);
	return runtime__fail("run", real);
}
