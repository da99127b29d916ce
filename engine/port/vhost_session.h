/*
 * vhost_session: the socket of a vhost port, and the thread that serves it.
 *
 * As a server it listens, and accepts the next guest when one is gone; as a client it connects, and
 * reconnects. Only this thread ever waits for the guest on the socket.
 */
#ifndef NINES_VHOST_SESSION_H
#define NINES_VHOST_SESSION_H

#include "port/vhost_device.h"

#include <pthread.h>

enum vhost_state { VHOST_WAITING, VHOST_CONNECTED, VHOST_UP, VHOST_FAILED };

struct vhost_session {
	struct vhost_device device;
	const char *path;
	bool server;
	int listener, stop_fd;
	pthread_t thread;
	pthread_mutex_t lock; /* of state and why */
	enum vhost_state state;
	char why[160];
};

/* -errno with a message. `path` must stay valid as long as the session. */
int vhost_session_start(struct vhost_session *s, struct vhost_queue *queues, const char *path,
			bool server, char *error, size_t size);
void vhost_session_stop(struct vhost_session *s);

/* "up", "waiting" for a guest, "connected" to one that has not set up the rings yet, or
 * "failed: why". */
void vhost_session_state(struct vhost_session *s, char *text, size_t size);

#endif
