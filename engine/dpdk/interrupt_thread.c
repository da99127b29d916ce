/* Uses an alarm, whose callback runs in that thread; see interrupt_thread.h. */
#include "dpdk/interrupt_thread.h"

#include <rte_alarm.h>
#include <semaphore.h>

struct errand {
	void (*work)(void *arg);
	void *arg;
	sem_t done;
};

static void run(void *arg)
{
	struct errand *errand = arg;
	errand->work(errand->arg);
	sem_post(&errand->done);
}

int interrupt_thread_run(void (*work)(void *arg), void *arg)
{
	struct errand errand = {.work = work, .arg = arg};
	sem_init(&errand.done, 0, 0);
	int err = rte_eal_alarm_set(1, run, &errand);
	if (!err)
		while (sem_wait(&errand.done) != 0) /* interrupted by a signal */
			;
	sem_destroy(&errand.done);
	return err;
}
