/*
 * vhost_device: what the messages of a guest's frontend make of a port: features,
 * memory, and two rings. Belongs to the protocol thread; before it changes what the
 * data thread uses, it shuts the guards.
 */
#ifndef NINES_VHOST_DEVICE_H
#define NINES_VHOST_DEVICE_H

#include "port/vhost_message.h"
#include "port/vhost_queue.h"

/* As the guest numbers them: it receives from 0 and sends on 1 (virtio 1.2, 5.1.2). */
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
	char why[128]; /* of the last refusal */
};

void vhost_device_init(struct vhost_device *d, struct vhost_queue *queues);

/* What a message asks for. 1: the message has become a reply, which is to be sent;
 * 0: there is none; -errno: the connection is not worth going on with. */
int vhost_device_handle(struct vhost_device *d, struct vhost_message *m);

/* The frontend is gone: nothing of it is touched any more when this returns. */
void vhost_device_reset(struct vhost_device *d);

#endif
