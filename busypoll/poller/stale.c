// SPDX-License-Identifier: Apache-2.0
/*
 * Handles a polled instance that is gone, while its device has a new one: packets of the
 * new instance would wait for the timer that defers interrupts. So all devices return to
 * interrupts for good. The program that started the polling must start it again.
 */
#define _GNU_SOURCE
#include "poller.h"

#include <stdio.h>

#define LOOK_TICKS 10

bool stale__look(const struct options *options, struct statistics *statistics)
{
	static unsigned ticks;
	static unsigned gone;

	if (gone == 0 && ++ticks % LOOK_TICKS == 0) {
		gone = napi__gone(options);
		if (gone != 0) {
			device__give(true);
			fprintf(stderr,
				"nines-poller: NAPI instance %u is gone, as its device was set down or "
				"recreated; interrupts receive again: stop polling, then start it\n",
				gone);
		}
	}
	/* Each time, because the threads end later and overwrite the state until then. */
	for (uint64_t i = 0; i < statistics->threads && gone != 0; i++)
		statistics->thread[i].state = STATISTICS_STALE;
	return gone != 0;
}
