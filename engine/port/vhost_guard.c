/* Waits for data threads; see vhost_guard.h. */
#include "port/vhost_guard.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) < 0 ? -errno : 0;
}

int vhost_guard_init(void)
{
	return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

void vhost_guard_shut(struct vhost_guard *g)
{
	const struct timespec pause = {.tv_nsec = 20000};
	atomic_store_explicit(&g->open, false, memory_order_seq_cst);
	/* From here on either the data thread sees that the guard is shut, or we see it inside. */
	membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	while (atomic_load_explicit(&g->inside, memory_order_acquire))
		nanosleep(&pause, NULL);
}
