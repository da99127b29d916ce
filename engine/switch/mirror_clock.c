/* One clock, extended each second; see mirror_clock.h. */
#include "switch/mirror_clock.h"

#include "clock/clock.h"

#include <pthread.h>
#include <time.h>

enum {
	LINE_NS = 1000000000,
	/* Lines for a minute: a writer is that late only when the disk hangs. */
	LINES = 64,
	WALL_READS = 21, /* uses the closest pair: a thread may lose its CPU between two reads */
};

static struct {
	pthread_mutex_t lock;
	unsigned users;
	struct clock_point begin;
	int64_t wall_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC, at the beginning */
	struct clock_scale lines[LINES]; /* a ring; their bases are CLOCK_MONOTONIC */
	unsigned newest;
} mirror_clock = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t wall_ahead_ns(void)
{
	uint64_t narrowest = UINT64_MAX;
	int64_t ahead = 0;
	for (int i = 0; i < WALL_READS; i++) {
		struct timespec wall;
		uint64_t before = clock_monotonic_ns();
		clock_gettime(CLOCK_REALTIME, &wall);
		uint64_t width = clock_monotonic_ns() - before;
		if (width >= narrowest)
			continue;
		narrowest = width;
		ahead = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec -
			(int64_t)(before + width / 2);
	}
	return ahead;
}

static void begin(void)
{
	mirror_clock.begin = clock_read_point();
	mirror_clock.wall_ns = wall_ahead_ns();
	for (int i = 0; i < LINES; i++)
		mirror_clock.lines[i] = clock_rebase(clock_global.scale, mirror_clock.begin);
	mirror_clock.newest = 0;
}

/* The longer the time since the beginning, the more exact the rate. */
static void extend(const struct clock_scale *last)
{
	struct clock_point now = clock_read_point();
	struct clock_scale rate = clock_scale_between(mirror_clock.begin, now);
	struct clock_point here = {.ticks = now.ticks, .ns = clock_at_ns(last, now.ticks)};
	struct clock_point there = {.ticks = now.ticks + clock_ns_to_ticks(&rate, LINE_NS),
				    .ns = now.ns + LINE_NS};
	mirror_clock.newest = (mirror_clock.newest + 1) % LINES;
	mirror_clock.lines[mirror_clock.newest] =
		clock_rebase(clock_scale_between(here, there), here);
}

static const struct clock_scale *line_of(uint64_t ticks)
{
	unsigned at = mirror_clock.newest;
	for (int i = 0; i < LINES - 1 && mirror_clock.lines[at].base.ticks > ticks; i++)
		at = (at + LINES - 1) % LINES;
	return &mirror_clock.lines[at];
}

void mirror_clock_acquire(void)
{
	pthread_mutex_lock(&mirror_clock.lock);
	if (mirror_clock.users++ == 0)
		begin();
	pthread_mutex_unlock(&mirror_clock.lock);
}

void mirror_clock_release(void)
{
	pthread_mutex_lock(&mirror_clock.lock);
	mirror_clock.users--;
	pthread_mutex_unlock(&mirror_clock.lock);
}

void mirror_clock_keep(void)
{
	pthread_mutex_lock(&mirror_clock.lock);
	const struct clock_scale *last = &mirror_clock.lines[mirror_clock.newest];
	if (clock_monotonic_ns() > last->base.ns + LINE_NS)
		extend(last);
	pthread_mutex_unlock(&mirror_clock.lock);
}

uint64_t mirror_clock_wall_ns(uint64_t ticks)
{
	pthread_mutex_lock(&mirror_clock.lock);
	uint64_t ns = clock_at_ns(line_of(ticks), ticks) + (uint64_t)mirror_clock.wall_ns;
	pthread_mutex_unlock(&mirror_clock.lock);
	return ns;
}
