/* The SIGBUS handler; see vhost_fault.h. */
#include "port/vhost_fault.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

enum { WATCHES_MAX = 1024 };

/* The handler reads the table while other threads add to it: `start` is written last. */
static struct watch {
	_Atomic(uintptr_t) start; /* 0: free */
	size_t bytes;
	atomic_bool *torn;
} watches[WATCHES_MAX];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before;

/* These are all plain system calls, so a signal handler may make them. With mlockall in force a
 * plain mapping would be filled at once, however large it is. A PROT_NONE mapping is not filled,
 * not even when it is unlocked later. */
static bool put_zeros(void *start, size_t bytes)
{
	void *p = mmap(start, bytes, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	if (p == MAP_FAILED)
		return false;
	munlock(start, bytes);
	return mprotect(start, bytes, PROT_READ | PROT_WRITE) == 0;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	int saved = errno;
	uintptr_t at = (uintptr_t)info->si_addr;
	(void)context;
	for (size_t i = 0; i < WATCHES_MAX; i++) {
		uintptr_t start = atomic_load_explicit(&watches[i].start, memory_order_acquire);
		if (!start || at - start >= watches[i].bytes)
			continue;
		if (!put_zeros((void *)start, watches[i].bytes))
			break;
		atomic_store(watches[i].torn, true);
		errno = saved;
		return;
	}
	/* Not ours: the access repeats, with the effect that it would have without this handler. */
	sigaction(number, &before, NULL);
	errno = saved;
}

/* Installed for each watch, because other code (a test framework) may have replaced it. */
static bool install(void)
{
	struct sigaction action = {.sa_sigaction = on_bus_error,
				   .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigaction now;
	if (sigaction(SIGBUS, NULL, &now) < 0)
		return false;
	if (now.sa_sigaction == on_bus_error)
		return true;
	before = now;
	return sigaction(SIGBUS, &action, NULL) == 0;
}

int vhost_fault_watch(void *start, size_t bytes, atomic_bool *torn)
{
	int number = -ENOSPC;
	pthread_mutex_lock(&lock);
	bool installed = install();
	for (int i = 0; installed && i < WATCHES_MAX; i++) {
		if (atomic_load(&watches[i].start))
			continue;
		watches[i].bytes = bytes;
		watches[i].torn = torn;
		atomic_store_explicit(&watches[i].start, (uintptr_t)start, memory_order_release);
		number = i;
		break;
	}
	pthread_mutex_unlock(&lock);
	return number;
}

void vhost_fault_unwatch(int watch)
{
	atomic_store(&watches[watch].start, 0);
}
