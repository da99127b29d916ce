// SPDX-License-Identifier: Apache-2.0
/*
 * What to do when an instance that is polled is gone, and its device has a new one: the
 * packets of that one would wait for the timer that defers interrupts. So all devices are
 * given back for good. It is for whoever started to poll them to do so anew.
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
				"anew; interrupts receive again, stop and start polling\n",
				gone);
		}
	}
	/* Each time, as the threads end in their own time and have a word in it until then. */
	for (uint64_t i = 0; i < statistics->threads && gone != 0; i++)
		statistics->thread[i].state = STATISTICS_STALE;
	return gone != 0;
}
