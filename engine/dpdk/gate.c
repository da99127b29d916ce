/* Waiting for bursts to be over; see gate.h. */
#include "dpdk/gate.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

struct gate gates[GATES];

int gate_init(void)
{
	/* Linux 4.14. */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) < 0)
		return -errno;
	return 0;
}

void gate_wait(void)
{
	/* Now either a thread's entering is seen here, or it sees what was written. */
	(void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	for (unsigned i = 0; i < GATES; i++) {
		uint32_t turns = atomic_load(&gates[i].turns);
		while (turns % 2 && atomic_load(&gates[i].turns) == turns)
			sched_yield();
	}
}
