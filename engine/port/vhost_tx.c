/*
 * Sends to a guest; see vhost_queue.h.
 *
 *   available ring -> heads -> descriptors -> the buffer's address, prefetched
 *   -> header and frame copied -> used ring
 *
 * This is the only copy of a frame on its path from guest to guest. A frame goes into one buffer
 * where it fits; otherwise into a chain, and with mergeable buffers into as many chains as it needs
 * (virtio 1.2, section 5.1.6.4).
 */
#include "port/vhost_queue.h"

#include <errno.h>
#include <linux/virtio_net.h>
#include <string.h>

/* Frames are short and many, so this avoids a call; it writes no byte past the end. */
static inline void copy(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	typedef long long vector __attribute__((vector_size(16), aligned(1), may_alias));
	if (__builtin_expect(bytes < 16 || bytes > 256, 0)) {
		memcpy(to, from, bytes);
		return;
	}
	uint32_t last = bytes - 16;
	for (uint32_t at = 0; at < last; at += 16)
		*(vector *)(to + at) = *(const vector *)(from + at);
	*(vector *)(to + last) = *(const vector *)(from + last);
}

/* Writes zeros, and num_buffers at the end of the longer layout. */
static inline void write_header(uint8_t *to, uint32_t bytes, uint16_t buffers)
{
	memset(to, 0, 10);
	if (bytes == VHOST_HEADER_MAX)
		memcpy(to + 10, &buffers, sizeof buffers);
}

/* Fetches the line for writing; otherwise it would be fetched twice. The compiler's builtin does so
 * only if it may assume PREFETCHW, which is a no-op on CPUs that lack it. */
static inline void prefetch_write(const uint8_t *at)
{
	__asm__ volatile("prefetchw %0" : : "m"(*at));
}

struct place {
	uint8_t *at;
	uint16_t head;
};

/* Finds the buffer for a frame, if a single one holds all of it. */
static inline bool locate(struct vhost_queue *q, uint16_t head, uint32_t bytes, struct place *place)
{
	if (__builtin_expect(head >= q->size, 0))
		return false;
	struct vring_desc d = vhost_descriptor(q, head);
	if (__builtin_expect(d.flags != VRING_DESC_F_WRITE || d.len < bytes, 0))
		return false;
	place->head = head;
	place->at = vhost_memory_guest(q->memory, &q->region, d.addr, bytes);
	return place->at;
}

/* Sends frames, from the first, as long as each fits one buffer. */
static unsigned send_plain(struct vhost_queue *q, const struct packet *burst, unsigned count)
{
	struct place places[PORT_BURST];
	unsigned n;
	for (unsigned i = 0; i < count; i++) {
		uint16_t head = vhost_available_head(q, (uint16_t)(q->next + i));
		places[i].head = head;
		__builtin_prefetch(&q->descriptors[head & (q->size - 1)]);
	}
	for (n = 0; n < count; n++) {
		uint32_t bytes = burst[n].length + q->header_bytes;
		if (!locate(q, places[n].head, bytes, &places[n]))
			break;
		prefetch_write(places[n].at);
		prefetch_write(places[n].at + q->header_bytes + 48);
	}
	for (unsigned i = 0; i < n; i++) {
		write_header(places[i].at, q->header_bytes, 1);
		copy(places[i].at + q->header_bytes, burst[i].data, burst[i].length);
		vhost_use(q, (uint16_t)(q->used_index + i), places[i].head,
			  burst[i].length + q->header_bytes);
	}
	for (unsigned i = 0; i < n; i++) {
		vhost_demote(places[i].at);
		vhost_demote(places[i].at + q->header_bytes + 48);
		if (i % 8 == 0) /* used entries in a cache line */
			vhost_demote(&q->used->ring[(q->used_index + i) & (q->size - 1)]);
	}
	q->next = (uint16_t)(q->next + n);
	if (n)
		vhost_publish(q, n);
	return n;
}

/* The data to write, and how much of it is done. */
struct source {
	uint8_t header[VHOST_HEADER_MAX];
	uint32_t header_bytes, total, done;
	const uint8_t *frame;
};

static void fill(struct source *s, uint8_t *to, uint32_t room)
{
	while (room > 0 && s->done < s->total) {
		bool in_header = s->done < s->header_bytes;
		uint32_t left = (in_header ? s->header_bytes : s->total) - s->done;
		const uint8_t *from =
			in_header ? s->header + s->done : s->frame + (s->done - s->header_bytes);
		uint32_t n = left < room ? left : room;
		memcpy(to, from, n);
		to += n;
		room -= n;
		s->done += n;
	}
}

/* Writes as much as fits into a chain; with `s` NULL it only checks. Returns the bytes that the
 * chain has room for (at most `want`), or -EINVAL. */
static int64_t walk(struct vhost_queue *q, uint16_t head, uint32_t want, struct source *s)
{
	uint32_t index = head, room = 0;
	for (unsigned n = 0; n < VHOST_CHAIN_MAX && index < q->size; n++) {
		struct vring_desc d = vhost_descriptor(q, index);
		if (!(d.flags & VRING_DESC_F_WRITE) || (d.flags & VRING_DESC_F_INDIRECT))
			return -EINVAL;
		uint32_t part = d.len < want - room ? d.len : want - room;
		uint8_t *to = vhost_memory_guest(q->memory, &q->region, d.addr, part);
		if (!to)
			return -EINVAL;
		if (s)
			fill(s, to, part);
		room += part;
		if (room == want || !(d.flags & VRING_DESC_F_NEXT))
			return room;
		index = d.next;
	}
	return -EINVAL;
}

/* Finds the chains for a frame. Returns their number, 0 if there are too few now, -EMSGSIZE if no
 * number would be enough, or -EINVAL with the number of the bad one in `bad`. */
static int gather(struct vhost_queue *q, uint32_t total, uint32_t rooms[VHOST_CHAIN_MAX],
		  unsigned *bad)
{
	uint32_t most = q->mergeable ? VHOST_CHAIN_MAX : 1;
	uint32_t have = vhost_available(q, most), room = 0;
	for (unsigned n = 0; n < most; n++) {
		if (n == have)
			return 0;
		uint16_t head = vhost_available_head(q, (uint16_t)(q->next + n));
		int64_t got = walk(q, head, total - room, NULL);
		/* The first buffer must hold the whole header. */
		if (got <= 0 || (n == 0 && got < q->header_bytes)) {
			*bad = n;
			return -EINVAL;
		}
		rooms[n] = (uint32_t)got;
		room += (uint32_t)got;
		if (room == total)
			return (int)n + 1;
	}
	return -EMSGSIZE;
}

/* Returns `count` chains unused. */
static void give_up(struct vhost_queue *q, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		vhost_use(q, (uint16_t)(q->used_index + i),
			  vhost_available_head(q, (uint16_t)(q->next + i)), 0);
	q->next = (uint16_t)(q->next + count);
	vhost_publish(q, count);
}

/* Sends one frame into buffers of any shape: 1 sent, 0 no room, or -EMSGSIZE. */
static int send_any(struct vhost_queue *q, const struct packet *p)
{
	struct source s = {.header_bytes = q->header_bytes,
			   .total = q->header_bytes + p->length,
			   .frame = p->data};
	uint32_t rooms[VHOST_CHAIN_MAX];
	unsigned bad;
	int chains = gather(q, s.total, rooms, &bad);
	if (chains == -EINVAL) {
		port_count(q->malformed, 1);
		give_up(q, bad + 1);
		return 0;
	}
	if (chains <= 0)
		return chains;
	write_header(s.header, q->header_bytes, (uint16_t)chains);
	for (int i = 0; i < chains; i++) {
		uint16_t head = vhost_available_head(q, (uint16_t)(q->next + i));
		/* If the guest has changed the chain since, less is written. */
		walk(q, head, rooms[i], &s);
		vhost_use(q, (uint16_t)(q->used_index + i), head, rooms[i]);
	}
	q->next = (uint16_t)(q->next + chains);
	vhost_publish(q, (uint32_t)chains);
	return 1;
}

int vhost_send(struct vhost_queue *q, const struct packet *burst, unsigned count)
{
	unsigned sent = 0;
	while (sent < count) {
		uint32_t have = vhost_available(q, count - sent);
		if (have == 0)
			break;
		unsigned try = have < count - sent ? have : count - sent;
		unsigned n = send_plain(q, burst + sent, try);
		sent += n;
		if (n == try)
			continue;
		int one = send_any(q, &burst[sent]);
		if (one < 0 && sent == 0)
			return one;
		if (one <= 0)
			break;
		sent++;
	}
	return (int)sent;
}
