/*
 * The guest writes the descriptors and the available ring whenever it likes, also while we read
 * them. So we read every index, address, length and flag once, into our own variable, and check it
 * there. Invalid ones are counted, and a ring whose index jumps is not used until the guest sets it
 * up again.
 */
#ifndef NINES_VHOST_QUEUE_H
#define NINES_VHOST_QUEUE_H

#include "port/port.h"
#include "port/vhost_call.h"
#include "port/vhost_guard.h"
#include "port/vhost_memory.h"

#include <linux/virtio_ring.h>

enum {
	VHOST_QUEUE_MAX = 32768, /* virtio 1.2, section 2.7 */
	/* Packets lent at a time: two bursts, a power of 2. */
	VHOST_LENT_MAX = 2 * PORT_BURST,
	/* Descriptors of a packet: Linux sends at most 17 fragments, and a header. */
	VHOST_CHAIN_MAX = 64,
	/* Longest frame, and the shortest with an Ethernet header. */
	VHOST_FRAME_MAX = 9216,
	VHOST_FRAME_MIN = 14,
	VHOST_HEADER_MAX = 12,
};

struct vhost_queue {
	struct vhost_guard guard;
	struct vhost_call call;

	/* Set by the protocol thread while the guard is shut. */
	const struct vring_desc *descriptors;
	const struct vring_avail *available;
	struct vring_used *used;
	const struct vhost_memory *memory;
	uint32_t size; /* a power of 2 */
	uint32_t header_bytes; /* before each frame: 10 or 12 */
	bool mergeable, event_index;
	int call_fd; /* -1: the guest polls */

	/* The data thread's; set by the protocol thread while the guard is shut. */
	_Alignas(64) uint16_t next; /* of the available ring */
	uint16_t seen; /* the available index at the last look */
	uint16_t used_index;
	uint16_t told; /* used_index when the guest was last asked whether it waits */
	bool told_once; /* `told` means something */
	bool must_tell; /* used_index has moved since then */
	unsigned region; /* of the last buffer */
	unsigned quiet; /* calls since used_index moved */
	atomic_bool broken; /* the guest wrote invalid data into the ring */

	/* Receiving: the buffers lent to the role are the next ones in our own ring; they are
	 * returned in order, bad ones included. */
	uint16_t taken, returned;
	uint16_t lent_end; /* after the last good one */
	uint16_t heads[VHOST_LENT_MAX];
	uint8_t *joined; /* VHOST_LENT_MAX buffers of VHOST_FRAME_MAX bytes, for frames in pieces */

	/* The port's drop counters for this direction. */
	uint64_t *malformed, *too_long;
};

/* Moves a line that the guest's CPU uses next to the cache that both share, so that it need not be
 * fetched from this core's. A hint of newer CPUs (CLDEMOTE, Sapphire Rapids), a no-op on others;
 * worth a sixth of the throughput of short frames. */
static inline void vhost_demote(const void *at)
{
	__asm__ volatile("cldemote %0" : : "m"(*(const char *)at));
}

/* A descriptor, read once. */
static inline struct vring_desc vhost_descriptor(const struct vhost_queue *q, uint32_t index)
{
	const volatile uint64_t *from = (const volatile uint64_t *)&q->descriptors[index];
	uint64_t low = from[0], high = from[1];
	return (struct vring_desc){
		.addr = low,
		.len = (uint32_t)high,
		.flags = (uint16_t)(high >> 32),
		.next = (uint16_t)(high >> 48),
	};
}

static inline uint16_t vhost_available_head(const struct vhost_queue *q, uint16_t at)
{
	return *(const volatile uint16_t *)&q->available->ring[at & (q->size - 1)];
}

/* How many buffers are available. Rereads the guest's index only if there seem to be fewer than
 * wanted, because that line comes from the guest's CPU. */
static inline uint32_t vhost_available(struct vhost_queue *q, uint32_t want)
{
	uint16_t have = (uint16_t)(q->seen - q->next);
	if (have >= want)
		return have;
	q->seen = __atomic_load_n(&q->available->idx, __ATOMIC_ACQUIRE);
	have = (uint16_t)(q->seen - q->next);
	if (__builtin_expect(have > q->size, 0)) {
		atomic_store(&q->broken, true);
		q->seen = q->next;
		return 0;
	}
	return have;
}

static inline void vhost_use(struct vhost_queue *q, uint16_t at, uint32_t head, uint32_t bytes)
{
	struct vring_used_elem *e = &q->used->ring[at & (q->size - 1)];
	*e = (struct vring_used_elem){.id = head, .len = bytes};
}

/* Shows `count` used entries to the guest. */
static inline void vhost_publish(struct vhost_queue *q, uint32_t count)
{
	q->used_index = (uint16_t)(q->used_index + count);
	__atomic_store_n(&q->used->idx, q->used_index, __ATOMIC_RELEASE);
	q->must_tell = true;
	q->quiet = 0;
}

/* Wakes the guest if it asked for that. This takes a full barrier, which waits for all writes to
 * the guest's lines; see vhost_tell_later. */
void vhost_tell(struct vhost_queue *q);

/* The same, but later: a guest that sleeps can wait a few turns of a polling loop longer, and one
 * that polls should not pay for the barrier. */
static inline void vhost_tell_later(struct vhost_queue *q, bool idle)
{
	enum { TURNS = 8 };
	if (q->must_tell && (idle || ++q->quiet >= TURNS))
		vhost_tell(q);
}

/* Data thread, inside the guard. */
unsigned vhost_receive(struct vhost_queue *q, struct packet *burst, unsigned max);
/* Returns all buffers taken before position `until`, and the bad ones after it. */
void vhost_return(struct vhost_queue *q, uint16_t until);
/* The number of frames copied to the guest; -EMSGSIZE if the first does not fit. */
int vhost_send(struct vhost_queue *q, const struct packet *burst, unsigned count);

#endif
