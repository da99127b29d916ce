/*
 * vhost_device: the state that a guest's frontend sets up by messages: features, memory, and two
 * rings. Belongs to the protocol thread, which shuts the guards before it changes anything that the
 * data thread uses.
 */
#ifndef NINES_VHOST_DEVICE_H
#define NINES_VHOST_DEVICE_H

#include "port/vhost_message.h"
#include "port/vhost_queue.h"

/* Numbered from the guest's view: it receives on 0 and sends on 1 (virtio 1.2, 5.1.2). */
enum { VHOST_TO_GUEST, VHOST_FROM_GUEST, VHOST_RINGS };

struct vhost_ring {
	uint32_t size;
	uint16_t base;
	uint64_t descriptors, available, used; /* frontend's addresses */
	bool addressed, kicked, enabled;
	int call_fd;
};

struct vhost_device {
	struct vhost_queue *queues; /* VHOST_RINGS */
	struct vhost_ring rings[VHOST_RINGS];
	struct vhost_memory memory;
	uint64_t features, protocol_features;
	char why[128]; /* reason of the last refusal */
};

void vhost_device_init(struct vhost_device *d, struct vhost_queue *queues);

/* Handles a message. 1: the message is now a reply to send; 0: no reply; -errno: the connection
 * must be closed. */
int vhost_device_handle(struct vhost_device *d, struct vhost_message *m);

/* The frontend is gone: when this returns, no thread touches its memory. */
void vhost_device_reset(struct vhost_device *d);

#endif
