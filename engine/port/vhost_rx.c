/*
 * Receives from a guest; see vhost_queue.h.
 *
 *   available ring -> heads -> descriptors -> the frame's address, prefetched -> lent
 *   returned in order -> used ring
 *
 * This code reads nothing of the frame, not even the virtio header: no offered feature gives it a
 * meaning. A contiguous frame is lent in place; one in several pieces is copied into one.
 */
#include "port/vhost_queue.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

/* Collects a chain's buffers; `write` says whether the guest wants them written. The number, or
 * -EINVAL. */
static int chain(const struct vhost_queue *q, unsigned *region, struct vring_desc d,
		 struct iovec *pieces)
{
	for (int n = 0; n < VHOST_CHAIN_MAX; n++) {
		if (d.flags & (VRING_DESC_F_INDIRECT | VRING_DESC_F_WRITE))
			return -EINVAL;
		pieces[n].iov_base = vhost_memory_guest(q->memory, region, d.addr, d.len);
		pieces[n].iov_len = d.len;
		if (!pieces[n].iov_base)
			return -EINVAL;
		if (!(d.flags & VRING_DESC_F_NEXT))
			return n + 1;
		if (d.next >= q->size)
			return -EINVAL;
		d = vhost_descriptor(q, d.next);
	}
	return -EINVAL;
}

/* Joins the pieces of a frame, without its header. -EINVAL, -EMSGSIZE. */
static int join(struct vhost_queue *q, struct vring_desc first, uint16_t at, struct packet *p)
{
	struct iovec pieces[VHOST_CHAIN_MAX];
	int count = chain(q, &q->region, first, pieces), i = 0;
	size_t skip = q->header_bytes;
	if (count < 0)
		return count;
	while (i < count && pieces[i].iov_len <= skip)
		skip -= pieces[i++].iov_len;
	if (i == count)
		return -EINVAL;
	pieces[i].iov_base = (uint8_t *)pieces[i].iov_base + skip;
	pieces[i].iov_len -= skip;
	if (i == count - 1) {
		*p = (struct packet){.data = pieces[i].iov_base,
				     .length = (uint32_t)pieces[i].iov_len};
		return pieces[i].iov_len > VHOST_FRAME_MAX ? -EMSGSIZE : 0;
	}
	uint8_t *to = q->joined + (size_t)(at & (VHOST_LENT_MAX - 1)) * VHOST_FRAME_MAX;
	*p = (struct packet){.data = to};
	for (; i < count; i++) {
		if (pieces[i].iov_len > VHOST_FRAME_MAX - p->length)
			return -EMSGSIZE;
		memcpy(to + p->length, pieces[i].iov_base, pieces[i].iov_len);
		p->length += (uint32_t)pieces[i].iov_len;
	}
	return 0;
}

static int locate(struct vhost_queue *q, uint16_t head, uint16_t at, struct packet *p)
{
	if (__builtin_expect(head >= q->size, 0))
		return -EINVAL;
	struct vring_desc d = vhost_descriptor(q, head);
	if (__builtin_expect(d.flags == 0 && d.len > q->header_bytes &&
				     d.len - q->header_bytes <= VHOST_FRAME_MAX,
			     1)) {
		uint8_t *buffer = vhost_memory_guest(q->memory, &q->region, d.addr, d.len);
		*p = (struct packet){.data = buffer + q->header_bytes,
				     .length = d.len - q->header_bytes};
		return buffer ? 0 : -EINVAL;
	}
	return join(q, d, at, p);
}

unsigned vhost_receive(struct vhost_queue *q, struct packet *burst, unsigned max)
{
	uint16_t lent = (uint16_t)(q->taken - q->returned);
	unsigned room = (unsigned)VHOST_LENT_MAX - lent, n = 0;
	if (max > room)
		max = room;
	uint32_t count = vhost_available(q, 1);
	if (count > max)
		count = max;
	if (count == 0)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		uint16_t head = vhost_available_head(q, (uint16_t)(q->next + i));
		q->heads[(q->taken + i) & (VHOST_LENT_MAX - 1)] = head;
		__builtin_prefetch(&q->descriptors[head & (q->size - 1)]);
	}
	for (uint32_t i = 0; i < count; i++) {
		uint16_t at = (uint16_t)(q->taken + i);
		struct packet *p = &burst[n];
		int err = locate(q, q->heads[at & (VHOST_LENT_MAX - 1)], at, p);
		if (__builtin_expect(!err && p->length >= VHOST_FRAME_MIN, 1)) {
			__builtin_prefetch(p->data);
			p->handle = at;
			q->lent_end = (uint16_t)(at + 1);
			n++;
		} else {
			port_count(err == -EMSGSIZE ? q->too_long : q->malformed, 1);
		}
	}
	q->next = (uint16_t)(q->next + count);
	q->taken = (uint16_t)(q->taken + count);
	/* Otherwise the bad ones are returned after those that are already lent. */
	if (n == 0 && lent == 0)
		vhost_return(q, q->taken);
	return n;
}

void vhost_return(struct vhost_queue *q, uint16_t until)
{
	if (until == q->lent_end)
		until = q->taken;
	uint16_t count = (uint16_t)(until - q->returned);
	for (uint16_t i = 0; i < count; i++) {
		uint16_t at = (uint16_t)(q->returned + i);
		uint16_t head = q->heads[at & (VHOST_LENT_MAX - 1)];
		vhost_use(q, (uint16_t)(q->used_index + i), head, 0);
	}
	q->returned = until;
	vhost_publish(q, count);
}
