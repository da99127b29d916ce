/* The thread that opens a device; see opening.h. */
#include "dpdk/opening.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { CANCEL_WAIT_NS = 1000000000, REFUSED_PAUSE_NS = 50000000, REFUSED_TRIES = 20 };

/* The thread that comes second cleans up. */
enum { STAGE_OPENS, STAGE_OVER, STAGE_CANCELLED };

struct opening {
	struct device device;
	char text[512];
	uint32_t frame_bytes;
	bool wakes;
	int err;
	char error[512];
	sem_t over;
	bool is_over; /* the control thread's: has seen `over` */
	_Atomic int stage;
};

static void opening_free(struct opening *o)
{
	sem_destroy(&o->over);
	free(o);
}

static void discard(struct opening *o)
{
	if (!o->err)
		device_close(&o->device);
	opening_free(o);
}

static bool is_cancelled(struct opening *o)
{
	return atomic_load(&o->stage) == STAGE_CANCELLED;
}

/* memif's client is refused at once if no server listens, so this waits until one does. */
static int await_listener(struct opening *o, const struct device_text *text)
{
	struct timespec pause = {.tv_nsec = 5000000};
	while (text->awaits_peer && text->socket[0] && !device_socket_listens(text->socket)) {
		if (is_cancelled(o))
			return -ECANCELED;
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int await_and_open(struct opening *o)
{
	struct timespec pause = {.tv_nsec = REFUSED_PAUSE_NS};
	struct device_text text;
	int err = device_text_parse(o->text, &text, o->error, sizeof o->error);
	for (int tries = 0; !err; tries++) {
		err = await_listener(o, &text);
		if (err)
			break;
		err = device_open(&o->device, o->text, o->frame_bytes, o->wakes, o->error,
				  sizeof o->error);
		/* A bound socket looks as if it listened, a moment before it does. */
		if (!err || !text.awaits_peer || tries == REFUSED_TRIES || is_cancelled(o))
			break;
		err = 0;
		nanosleep(&pause, NULL);
	}
	return err;
}

static void *open_device(void *arg)
{
	struct opening *o = arg;
	o->err = await_and_open(o);
	if (atomic_exchange(&o->stage, STAGE_OVER) == STAGE_CANCELLED)
		discard(o);
	else
		sem_post(&o->over); /* from here on the control thread owns `o` */
	return NULL;
}

int opening_begin(struct opening **out, const char *text, uint32_t frame_bytes, bool wakes,
		  char *error, size_t size)
{
	pthread_attr_t attributes;
	pthread_t thread;
	struct opening *o = calloc(1, sizeof *o);
	if (!o) {
		snprintf(error, size, "out of memory");
		return -ENOMEM;
	}
	snprintf(o->text, sizeof o->text, "%s", text);
	o->frame_bytes = frame_bytes;
	o->wakes = wakes;
	sem_init(&o->over, 0, 0);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	int err = -pthread_create(&thread, &attributes, open_device, o);
	pthread_attr_destroy(&attributes);
	if (err) {
		opening_free(o);
		snprintf(error, size, "cannot start a thread");
		return err;
	}
	*out = o;
	return 0;
}

enum opening_state opening_wait(struct opening *o, uint64_t timeout_ns, int *err,
				const char **error)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)(timeout_ns % 1000000000u);
	until.tv_sec += (time_t)(timeout_ns / 1000000000u) + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while (!o->is_over) {
		if (sem_clockwait(&o->over, CLOCK_MONOTONIC, &until) == 0)
			o->is_over = true;
		else if (errno != EINTR)
			return OPENING_WAITS;
	}
	*err = o->err;
	*error = o->error;
	return o->err ? OPENING_FAILED : OPENING_DONE;
}

void opening_take(struct opening *o, struct device *device)
{
	*device = o->device;
	opening_free(o);
}

/* Wakes an accept(2) by a connection that closes at once, and that the driver refuses. */
static void hang_up_on(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof address.sun_path)
		return;
	memcpy(address.sun_path, path, strlen(path) + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	/* If it fails, no thread waits there. */
	(void)!connect(fd, (struct sockaddr *)&address, sizeof address);
	close(fd);
}

void opening_cancel(struct opening *o)
{
	struct device_text text;
	const char *ignored;
	int err;
	if (device_text_parse(o->text, &text, o->error, 0) == 0 && text.blocks)
		hang_up_on(text.socket);
	/* If the peer keeps the driver waiting, the thread cleans up when the wait ends. */
	if (opening_wait(o, text.blocks ? CANCEL_WAIT_NS : 0, &err, &ignored) == OPENING_WAITS &&
	    atomic_exchange(&o->stage, STAGE_CANCELLED) == STAGE_OPENS)
		return;
	if (!o->is_over)
		sem_wait(&o->over);
	discard(o);
}
