/* Starts EAL, and says why it did not start; see eal.h. */
#include "dpdk/eal.h"

#include "dpdk/eal_log.h"
#include "dpdk/gate.h"
#include "dpdk/hugepages.h"
#include "dpdk/pci.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_memory.h>
#include <rte_version.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUNTIME_FOLDER_BYTES = 64 };

static struct {
	bool tried, started;
	struct eal_config config;
	pthread_key_t registered; /* set in threads registered with DPDK */
} eal;

static void forget_thread(void *unused)
{
	(void)unused;
	rte_thread_unregister();
}

/* Writes a message, followed by the last of DPDK's log. */
static int refuse(int err, char *error, size_t size, const char *what)
{
	char log[200];
	eal_log_last(log, sizeof log, 3);
	snprintf(error, size, "DPDK does not start: %s%s%s", what, log[0] ? "; DPDK says: " : "",
		 log);
	return err;
}

/* Checks before EAL does, because EAL only says that it cannot get memory. */
static int check_memory(const struct eal_config *c, char *error, size_t size)
{
	if (!c->huge)
		return 0;
	struct hugepages h = hugepages_of(c->memory_node);
	if (h.page_bytes == 0) {
		snprintf(
			error, size,
			"no hugepages are visible: the kernel has none, or /proc or /sys is not mounted here; "
			"use \"huge\":false");
		return -ENOMEM;
	}
	uint64_t wanted = (c->memory_bytes + h.page_bytes - 1) / h.page_bytes;
	if (h.free >= wanted)
		return 0;
	snprintf(error, size,
		 "too few hugepages on memory node %d: %" PRIu64 " of %" PRIu64
		 " kB are free (of %" PRIu64 "), %" PRIu64
		 " are wanted; reserve more (/sys/devices/system/node/node%d/hugepages/"
		 "hugepages-%" PRIu64 "kB/nr_hugepages), or use \"huge\":false",
		 c->memory_node, h.free, h.page_bytes >> 10, h.total, wanted, c->memory_node,
		 h.page_bytes >> 10);
	return -ENOMEM;
}

static int check_pci(const struct eal_config *c, char *error, size_t size)
{
	for (unsigned i = 0; i < c->pci_count; i++) {
		int err = pci_check("/sys", c->pci[i], error, size);
		if (err)
			return err;
		char path[96], target[256] = "";
		snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/driver", c->pci[i]);
		if (readlink(path, target, sizeof target - 1) > 0 && strstr(target, "/vfio-pci") &&
		    access("/dev/vfio/vfio", R_OK | W_OK) < 0) {
			snprintf(error, size, "no access to /dev/vfio/vfio, which %s needs",
				 c->pci[i]);
			return -EACCES;
		}
	}
	return 0;
}

/* The CPU of EAL's threads: the requested one, or the first that is allowed. */
static int resolve_cpu(const struct eal_config *c, const cpu_set_t *allowed, int *cpu, char *error,
		       size_t size)
{
	for (*cpu = 0; *cpu < CPU_SETSIZE; ++*cpu)
		if (CPU_ISSET(*cpu, allowed) && (c->cpu < 0 || c->cpu == *cpu))
			return 0;
	snprintf(error, size, "this process may not use CPU %d", c->cpu);
	return -EINVAL;
}

/* EAL creates a folder for its files, though it has none here, and does not start without it. It
 * gets a folder of this process, so that no other engine that starts or ends at the same time
 * removes the parent. A container's root may have neither /run nor /tmp. False: no place for one;
 * EAL will report that. */
static bool make_runtime_folder(char folder[RUNTIME_FOLDER_BYTES])
{
	static const char *const parents[] = {"/run", "/tmp", "/dev/shm", "/dev"};
	for (size_t i = 0; i < sizeof parents / sizeof parents[0]; i++) {
		snprintf(folder, RUNTIME_FOLDER_BYTES, "%s/nines-dpdk-XXXXXX", parents[i]);
		if (mkdtemp(folder)) {
			setenv("RUNTIME_DIRECTORY", folder, 1);
			return true;
		}
	}
	return false;
}

/* EAL creates only two folders in it, dpdk/PREFIX, if it gets that far. */
static void remove_runtime_folder(const char *folder)
{
	char shared[RUNTIME_FOLDER_BYTES + sizeof "/dpdk"];
	snprintf(shared, sizeof shared, "%s/dpdk", folder);
	rmdir(rte_eal_get_runtime_dir());
	rmdir(shared);
	rmdir(folder);
}

/* rte_eal_init with the calling thread on `cpu`. EAL's own threads run on the caller's CPUs without
 * those of --lcores, or if none is left, on the main thread's (eal_common_thread.c and
 * eal_common_options.c, compute_ctrl_threads_cpuset). */
static int init_on(int cpu, const cpu_set_t *allowed, struct eal_arguments *arguments)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	pthread_setaffinity_np(pthread_self(), sizeof one, &one);
	char folder[RUNTIME_FOLDER_BYTES];
	bool made = make_runtime_folder(folder);
	int n = rte_eal_init(arguments->count, arguments->argv);
	int err = n < 0 ? -rte_errno : 0;
	if (made)
		remove_runtime_folder(folder);
	/* Threads created later inherit the affinity. */
	pthread_setaffinity_np(pthread_self(), sizeof *allowed, allowed);
	return err;
}

int eal_start(const struct eal_config *config, struct eal_started *started, char *error,
	      size_t size)
{
	struct eal_arguments arguments;
	cpu_set_t allowed;
	int cpu;
	memset(started, 0, sizeof *started);
	if (eal.tried) {
		snprintf(error, size,
			 eal.started
				 ? "DPDK is already started; a process can start it only once"
				 : "DPDK did not start: restart the engine, which tries only once");
		return -EALREADY;
	}
	int err = -pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed);
	if (err)
		return refuse(err, error, size, "cannot read the CPUs of this process");
	err = resolve_cpu(config, &allowed, &cpu, error, size);
	err = err ?: check_memory(config, error, size);
	err = err ?: check_pci(config, error, size);
	if (err)
		return err;
	struct eal_config resolved = *config;
	for (unsigned i = 0; i < config->pci_count; i++)
		resolved.physical |= pci_needs_physical("/sys", config->pci[i]);
	err = gate_init();
	if (err)
		return refuse(err, error, size,
			      err == -ENOSYS || err == -EINVAL
				      ? "the kernel has no membarrier(2) for it"
				      : "membarrier(2) failed");
	err = eal_log_capture();
	if (err)
		return refuse(err, error, size, "cannot take its log");
	err = eal_arguments_build(&arguments, &resolved, cpu);
	if (err)
		return refuse(err, error, size, "its arguments do not fit");
	eal.tried = true;
	err = init_on(cpu, &allowed, &arguments);
	if (err)
		return refuse(err, error, size, "rte_eal_init failed");
	err = -pthread_key_create(&eal.registered, forget_thread);
	if (err)
		return refuse(err, error, size, "no thread key");
	eal.config = *config;
	eal.started = true;
	snprintf(started->version, sizeof started->version, "%s", rte_version());
	return 0;
}

bool eal_is_started(void)
{
	return eal.started;
}

int eal_memory_node(void)
{
	return eal.config.huge ? eal.config.memory_node : SOCKET_ID_ANY;
}

bool eal_memory_is_huge(void)
{
	return eal.config.huge;
}

void eal_thread_begin(void)
{
	if (!eal.started || rte_lcore_id() != LCORE_ID_ANY)
		return;
	/* If DPDK has no room for another thread (RTE_MAX_LCORE are taken), the thread works, but
	 * takes each buffer from the pool's shared ring. */
	if (rte_thread_register() == 0)
		pthread_setspecific(eal.registered, &eal);
}
