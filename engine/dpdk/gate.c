/* Waits for bursts to end; see gate.h. */
#include "dpdk/gate.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

struct gate gates[GATES][GATE_WAYS];

int gate_init(void)
{
	/* Linux 4.14. */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) < 0)
		return -errno;
	return 0;
}

void gate_wait(void)
{
	/* From here on, either this thread sees that another entered, or that one sees what was
	 * written. */
	(void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	for (unsigned i = 0; i < GATES * GATE_WAYS; i++) {
		_Atomic uint32_t *at = &gates[i / GATE_WAYS][i % GATE_WAYS].turns;
		uint32_t turns = atomic_load(at);
		while (turns % 2 && atomic_load(at) == turns)
			sched_yield();
	}
}
