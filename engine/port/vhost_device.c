/* The protocol's state; see vhost_device.h. */
#include "port/vhost_device.h"

#include <errno.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Only features that this code handles. Without checksum and segmentation offloads the guest sends
 * complete frames, and we need nothing from its headers. In order: we return buffers in the order
 * in which the guest made them available, so it can skip the used ring's ids (virtio 1.2, section
 * 2.7.9). */
static const uint64_t offered =
	UINT64_C(1) << VIRTIO_NET_F_MRG_RXBUF | UINT64_C(1) << VIRTIO_RING_F_EVENT_IDX |
	UINT64_C(1) << VIRTIO_F_VERSION_1 | UINT64_C(1) << VIRTIO_F_ANY_LAYOUT |
	UINT64_C(1) << VIRTIO_F_IN_ORDER | VHOST_F_PROTOCOL_FEATURES;

static const uint64_t offered_protocol =
	VHOST_PROTOCOL_F_MQ | VHOST_PROTOCOL_F_REPLY_ACK | VHOST_PROTOCOL_F_RESET_DEVICE;

static bool has(const struct vhost_device *d, unsigned feature)
{
	return d->features >> feature & 1;
}

static int refuse(struct vhost_device *d, const char *why)
{
	snprintf(d->why, sizeof d->why, "%s", why);
	return -EINVAL;
}

static void ring_clear(struct vhost_ring *r)
{
	if (r->call_fd >= 0)
		close(r->call_fd);
	*r = (struct vhost_ring){.call_fd = -1};
}

void vhost_device_init(struct vhost_device *d, struct vhost_queue *queues)
{
	memset(d, 0, sizeof *d);
	d->queues = queues;
	for (int i = 0; i < VHOST_RINGS; i++) {
		d->rings[i].call_fd = -1;
		queues[i].memory = &d->memory;
		queues[i].call_fd = -1;
	}
}

static void pause_ring(struct vhost_device *d, unsigned index)
{
	struct vhost_queue *q = &d->queues[index];
	if (!vhost_guard_is_open(&q->guard))
		return;
	vhost_guard_shut(&q->guard);
	d->rings[index].base = q->next;
}

static void pause_all(struct vhost_device *d)
{
	for (unsigned i = 0; i < VHOST_RINGS; i++)
		pause_ring(d, i);
}

/* Hands the ring to the data thread, if it is complete. */
static int resume_ring(struct vhost_device *d, unsigned index)
{
	struct vhost_ring *r = &d->rings[index];
	struct vhost_queue *q = &d->queues[index];
	if (!r->size || !r->addressed || !r->kicked || !r->enabled || !d->memory.count ||
	    vhost_guard_is_open(&q->guard))
		return 0;
	q->descriptors = vhost_memory_user(&d->memory, r->descriptors, 16 * (uint64_t)r->size);
	q->available = vhost_memory_user(&d->memory, r->available, 6 + 2 * (uint64_t)r->size);
	q->used = vhost_memory_user(&d->memory, r->used, 6 + 8 * (uint64_t)r->size);
	if (!q->descriptors || !q->available || !q->used)
		return refuse(d, "a ring is outside of the memory that the guest shares");
	if ((uintptr_t)q->descriptors % 16 || (uintptr_t)q->available % 2 || (uintptr_t)q->used % 4)
		return refuse(d, "a ring is not aligned as virtio requires");
	q->size = r->size;
	q->mergeable = has(d, VIRTIO_NET_F_MRG_RXBUF);
	q->event_index = has(d, VIRTIO_RING_F_EVENT_IDX);
	q->header_bytes = q->mergeable || has(d, VIRTIO_F_VERSION_1)
				  ? sizeof(struct virtio_net_hdr_mrg_rxbuf)
				  : sizeof(struct virtio_net_hdr);
	q->call_fd = r->call_fd;
	q->next = q->seen = r->base;
	/* Equal to the base, unless an earlier device left without returning all buffers. */
	q->used_index = *(volatile uint16_t *)&q->used->idx;
	q->taken = q->returned = 0;
	q->told_once = false;
	q->must_tell = true; /* for buffers returned while the ring was paused */
	q->region = 0;
	atomic_store(&q->broken, false);
	/* We poll, so the guest need not kick; this says it in both formats. */
	q->used->flags = VRING_USED_F_NO_NOTIFY;
	if (q->event_index)
		memcpy(&q->used->ring[q->size], &(uint16_t){(uint16_t)(r->base - 1)}, 2);
	vhost_guard_open(&q->guard);
	return 0;
}

static int resume_all(struct vhost_device *d)
{
	int err = 0;
	for (unsigned i = 0; i < VHOST_RINGS && !err; i++)
		err = resume_ring(d, i);
	return err;
}

void vhost_device_reset(struct vhost_device *d)
{
	pause_all(d);
	vhost_memory_clear(&d->memory);
	for (unsigned i = 0; i < VHOST_RINGS; i++)
		ring_clear(&d->rings[i]);
	d->features = d->protocol_features = 0;
}

static int set_features(struct vhost_device *d, struct vhost_message *m)
{
	uint64_t wanted = m->payload.number;
	if (wanted & ~offered)
		return refuse(d, "the guest requests features that were not offered");
	pause_all(d);
	d->features = wanted;
	/* Without the protocol extensions no message enables a ring. */
	for (unsigned i = 0; i < VHOST_RINGS; i++)
		if (!(wanted & VHOST_F_PROTOCOL_FEATURES))
			d->rings[i].enabled = true;
	return resume_all(d);
}

static int set_memory(struct vhost_device *d, struct vhost_message *m)
{
	uint32_t count = m->payload.memory.count;
	const char *why = "";
	if (count > VHOST_REGIONS_MAX || count != m->fd_count || m->bytes < 8 + 32 * count)
		return refuse(d, "the memory table's number of files differs from its regions");
	pause_all(d);
	vhost_memory_clear(&d->memory);
	for (uint32_t i = 0; i < count; i++) {
		int err = vhost_memory_add(
			&d->memory, m->fds[i], m->payload.memory.regions[i].offset,
			m->payload.memory.regions[i].bytes, m->payload.memory.regions[i].guest,
			m->payload.memory.regions[i].user, &why);
		if (err) {
			refuse(d, why);
			return err;
		}
	}
	return resume_all(d);
}

static struct vhost_ring *ring_of(struct vhost_device *d, uint32_t index)
{
	return index < VHOST_RINGS ? &d->rings[index] : NULL;
}

static int no_ring(struct vhost_device *d)
{
	return refuse(d, "the guest names a ring that this device does not have; one queue pair "
			 "is all there is");
}

static int set_ring_number(struct vhost_device *d, struct vhost_message *m)
{
	uint32_t index = m->payload.ring.index, number = m->payload.ring.number;
	struct vhost_ring *r = ring_of(d, index);
	if (!r)
		return no_ring(d);
	pause_ring(d, index);
	if (m->request == VHOST_SET_VRING_ENABLE) {
		r->enabled = number != 0;
		return resume_ring(d, index);
	}
	if (m->request == VHOST_SET_VRING_BASE) {
		r->base = (uint16_t)number;
		return resume_ring(d, index);
	}
	if (number == 0 || number > VHOST_QUEUE_MAX || (number & (number - 1)))
		return refuse(d, "a ring's size must be a power of 2 up to 32768");
	r->size = number;
	return resume_ring(d, index);
}

static int set_address(struct vhost_device *d, struct vhost_message *m)
{
	struct vhost_ring *r = ring_of(d, m->payload.address.index);
	if (!r)
		return no_ring(d);
	pause_ring(d, m->payload.address.index);
	r->descriptors = m->payload.address.descriptors;
	r->available = m->payload.address.available;
	r->used = m->payload.address.used;
	r->addressed = true;
	return resume_ring(d, m->payload.address.index);
}

/* Stops a ring and replies with its position. */
static int get_base(struct vhost_device *d, struct vhost_message *m)
{
	struct vhost_ring *r = ring_of(d, m->payload.ring.index);
	if (!r)
		return no_ring(d);
	pause_ring(d, m->payload.ring.index);
	r->kicked = false;
	m->payload.ring.number = r->base;
	m->bytes = sizeof m->payload.ring;
	return 1;
}

/* Takes the message's descriptor; -1 if there is none. */
static int take_file(struct vhost_message *m)
{
	if (m->fd_count != 1)
		return -1;
	int fd = m->fds[0];
	m->fds[0] = -1;
	return fd;
}

static int set_file(struct vhost_device *d, struct vhost_message *m)
{
	uint32_t index = (uint32_t)(m->payload.number & VHOST_INDEX_MASK);
	struct vhost_ring *r = ring_of(d, index);
	if (!r)
		return no_ring(d);
	pause_ring(d, index);
	if (m->request == VHOST_SET_VRING_KICK) {
		/* We poll, so only the message matters: the ring starts. The file is not needed. */
		r->kicked = true;
	} else if (m->request == VHOST_SET_VRING_CALL) {
		if (r->call_fd >= 0)
			close(r->call_fd);
		r->call_fd = take_file(m);
	}
	return resume_ring(d, index);
}

static int give_number(struct vhost_message *m, uint64_t number)
{
	m->payload.number = number;
	m->bytes = sizeof number;
	return 1;
}

static int dispatch(struct vhost_device *d, struct vhost_message *m)
{
	switch (m->request) {
	case VHOST_GET_FEATURES:
		return give_number(m, offered);
	case VHOST_GET_PROTOCOL_FEATURES:
		return give_number(m, offered_protocol);
	case VHOST_GET_QUEUE_NUM:
		return give_number(m, 1);
	case VHOST_SET_FEATURES:
		return set_features(d, m);
	case VHOST_SET_PROTOCOL_FEATURES:
		d->protocol_features = m->payload.number & offered_protocol;
		return 0;
	case VHOST_SET_MEM_TABLE:
		return set_memory(d, m);
	case VHOST_SET_VRING_NUM:
	case VHOST_SET_VRING_BASE:
	case VHOST_SET_VRING_ENABLE:
		return set_ring_number(d, m);
	case VHOST_GET_VRING_BASE:
		return get_base(d, m);
	case VHOST_SET_VRING_ADDR:
		return set_address(d, m);
	case VHOST_SET_VRING_KICK:
	case VHOST_SET_VRING_CALL:
	case VHOST_SET_VRING_ERR:
		return set_file(d, m);
	case VHOST_SET_OWNER:
	case VHOST_SEND_RARP:
		return 0;
	case VHOST_RESET_OWNER:
	case VHOST_RESET_DEVICE:
		pause_all(d);
		for (unsigned i = 0; i < VHOST_RINGS; i++)
			ring_clear(&d->rings[i]);
		return 0;
	default:
		snprintf(d->why, sizeof d->why, "the guest sent request %u, which was not offered",
			 m->request);
		return -EOPNOTSUPP;
	}
}

int vhost_device_handle(struct vhost_device *d, struct vhost_message *m)
{
	bool acknowledge = (m->flags & VHOST_NEED_REPLY) &&
			   (d->protocol_features & VHOST_PROTOCOL_F_REPLY_ACK);
	int result = dispatch(d, m);
	if (result == 0 && acknowledge)
		result = give_number(m, 0);
	if (result == 1)
		m->flags = VHOST_VERSION | VHOST_REPLY;
	return result;
}
