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

enum { CANCEL_WAIT_NS = 1000000000 };

struct opening {
	struct device device;
	char text[512];
	uint32_t frame_bytes;
	int err;
	char error[512];
	sem_t over;
	bool is_over; /* the control thread's: it has seen `over` */
	atomic_bool left; /* by one of both; the second frees it */
};

static void opening_free(struct opening *o)
{
	sem_destroy(&o->over);
	free(o);
}

static void *open_device(void *arg)
{
	struct opening *o = arg;
	o->err = device_open(&o->device, o->text, o->frame_bytes, o->error, sizeof o->error);
	sem_post(&o->over);
	/* Cancelled while the driver waited: nobody takes what it got. */
	if (atomic_exchange(&o->left, true)) {
		if (!o->err)
			device_close(&o->device);
		opening_free(o);
	}
	return NULL;
}

int opening_begin(struct opening **out, const char *text, uint32_t frame_bytes, char *error,
		  size_t size)
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

static void leave(struct opening *o)
{
	if (atomic_exchange(&o->left, true))
		opening_free(o);
}

void opening_take(struct opening *o, struct device *device)
{
	*device = o->device;
	leave(o);
}

/* Wakes an accept(2) by a peer that hangs up at once, whom the driver refuses. */
static void hang_up_on(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof address.sun_path)
		return;
	memcpy(address.sun_path, path, strlen(path) + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	/* If it fails, nobody waits there any more. */
	(void)!connect(fd, (struct sockaddr *)&address, sizeof address);
	close(fd);
}

void opening_cancel(struct opening *o)
{
	struct device_text text;
	const char *ignored;
	int err;
	if (!o->is_over && device_text_parse(o->text, &text, o->error, 0) == 0 && text.listens)
		hang_up_on(text.socket);
	/* Where the peer keeps the driver waiting, its thread cleans up when that ends. */
	if (opening_wait(o, CANCEL_WAIT_NS, &err, &ignored) == OPENING_DONE) {
		struct device device;
		opening_take(o, &device);
		device_close(&device);
		return;
	}
	leave(o);
}
