/* The code around every measuring thread's loop; see thread.h. */
#include "role/thread.h"

#include "dpdk/eal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STACK_BYTES = 1 << 20, CPUS_MAX = 4096 };

/* The policy of packet threads if it is a real-time one; otherwise threads inherit theirs. */
static struct {
	int policy, priority;
} packets = {.policy = SCHED_OTHER};

static bool is_real_time(int policy)
{
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

int thread_init(void)
{
	struct sched_param param;
	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
	if (!is_real_time(policy) || sched_getparam(0, &param) < 0)
		return 0;
	packets.policy = policy;
	packets.priority = param.sched_priority;
	if (param.sched_priority < sched_get_priority_max(policy))
		param.sched_priority++;
	return sched_setscheduler(0, policy, &param) < 0 ? -errno : 0;
}

static int set_policy(pthread_attr_t *attributes)
{
	struct sched_param param = {.sched_priority = packets.priority};
	if (!is_real_time(packets.policy))
		return 0;
	return -(pthread_attr_setinheritsched(attributes, PTHREAD_EXPLICIT_SCHED)
			 ?: pthread_attr_setschedpolicy(attributes, packets.policy)
			 ?: pthread_attr_setschedparam(attributes, &param));
}

int thread_start(pthread_t *thread, int cpu, void *(*body)(void *), void *arg, char *error,
		 size_t size)
{
	pthread_attr_t attributes;
	cpu_set_t *set = NULL;
	int err = -pthread_attr_init(&attributes);
	if (err)
		return err;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	if (cpu >= 0) {
		set = CPU_ALLOC(CPUS_MAX);
		if (!set) {
			err = -ENOMEM;
			goto out;
		}
		CPU_ZERO_S(CPU_ALLOC_SIZE(CPUS_MAX), set);
		CPU_SET_S(cpu, CPU_ALLOC_SIZE(CPUS_MAX), set);
		pthread_attr_setaffinity_np(&attributes, CPU_ALLOC_SIZE(CPUS_MAX), set);
	}
	err = set_policy(&attributes);
	if (err)
		goto out;
	err = -pthread_create(thread, &attributes, body, arg);
	if (err == -EPERM)
		snprintf(error, size, "cannot start a thread with the real-time priority %d",
			 packets.priority);
	else if (err)
		snprintf(error, size,
			 "cannot start a thread on CPU %d: is it online and in this cpuset?", cpu);
out:
	if (set)
		CPU_FREE(set);
	pthread_attr_destroy(&attributes);
	return err;
}

int thread_begin(const char *name)
{
	pthread_setname_np(pthread_self(), name);
	/* By default the kernel may delay a timer by 50 us to save wake-ups. */
	prctl(PR_SET_TIMERSLACK, 1);
	eal_thread_begin();
	return (int)syscall(SYS_gettid);
}

void thread_scheduling(char *text, size_t size)
{
	static const char *const names[] = {
		[SCHED_OTHER] = "SCHED_OTHER", [SCHED_FIFO] = "SCHED_FIFO", [SCHED_RR] = "SCHED_RR",
		[SCHED_BATCH] = "SCHED_BATCH", [SCHED_IDLE] = "SCHED_IDLE",
	};
	struct sched_param param = {0};
	int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
	sched_getparam(0, &param);
	if (policy < 0 || policy >= (int)(sizeof names / sizeof *names) || !names[policy])
		snprintf(text, size, "policy %d", policy);
	else if (policy == SCHED_FIFO || policy == SCHED_RR)
		snprintf(text, size, "%s %d", names[policy], param.sched_priority);
	else
		snprintf(text, size, "%s, nice %d", names[policy], getpriority(PRIO_PROCESS, 0));
}

int thread_runs_open(void)
{
	return open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

struct thread_runs thread_runs_read(int fd)
{
	char text[128];
	unsigned long long had, delay, count;
	struct thread_runs runs = {0};
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	if (n <= 0)
		return runs;
	text[n] = '\0';
	if (sscanf(text, "%llu %llu %llu", &had, &delay, &count) == 3)
		runs = (struct thread_runs){.count = count, .delay_ns = delay};
	return runs;
}

struct thread_runs thread_runs(void)
{
	int fd = thread_runs_open();
	struct thread_runs runs = thread_runs_read(fd);
	if (fd >= 0)
		close(fd);
	return runs;
}

struct thread_runs thread_runs_since(struct thread_runs begin)
{
	struct thread_runs now = thread_runs();
	return (struct thread_runs){.count = now.count - begin.count,
				    .delay_ns = now.delay_ns - begin.delay_ns};
}

int thread_hold_awake(void)
{
	int32_t latency_us = 0;
	int fd = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, &latency_us, sizeof latency_us) != sizeof latency_us) {
		int err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

enum port_wait thread_wait(struct port *const *ports, unsigned count)
{
	enum port_wait wait = PORT_BLOCK;
	for (unsigned i = 0; i < count; i++) {
		if (!ports[i])
			continue;
		if (ports[i]->config.wait == PORT_SPIN)
			return PORT_SPIN;
		if (ports[i]->config.wait == PORT_BUSY_POLL)
			wait = PORT_BUSY_POLL;
	}
	return wait;
}

bool thread_may_sleep(struct port *const *ports, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (ports[i] && !port_may_sleep(ports[i]))
			return false;
	return true;
}

int thread_sleep(struct port *const *ports, unsigned count, struct port *want_tx, int stop_fd,
		 uint64_t timeout_ns)
{
	struct pollfd fds[THREAD_PORTS_MAX * PORT_POLLFDS_MAX + 1];
	struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
				   .tv_nsec = (long)(timeout_ns % 1000000000u)};
	unsigned n = 0;
	if (!thread_may_sleep(ports, count))
		return 1;
	for (unsigned i = 0; i < count; i++)
		if (ports[i])
			n += ports[i]->ops->pollfds(ports[i], fds + n, ports[i] == want_tx);
	fds[n++] = (struct pollfd){.fd = stop_fd, .events = POLLIN};
	return ppoll(fds, n, timeout_ns == THREAD_NO_TIMEOUT ? NULL : &timeout, NULL);
}
