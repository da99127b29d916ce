/* Holds packets until they are due; see impair.h. */
#include "switch/impair.h"

#include "clock/clock.h"
#include "switch/vlan.h"

#include <net/ethernet.h>
#include <stdlib.h>
#include <string.h>

enum { FCS_BYTES = 4, LINE_BYTES = 64 };

/* A packet that waits: a place in a binary heap, the earliest first. */
struct waiting {
	uint64_t due_ticks;
	uint64_t order; /* of packets that are due at the same time */
	uint32_t slot, length;
};

struct impair {
	struct impair_config config;
	struct impair_counts counts;
	uint64_t order;
	uint64_t free_ticks; /* when the last packet has left, at the rate */
	double free_fraction; /* and the part of a tick after that, or each packet would be short */
	double ticks_per_byte; /* 0: no rate */
	uint8_t *slots; /* `limit` frames, with room for PORT_BURST that are lent */
	uint32_t slot_bytes, slot_count;
	uint32_t *unused, unused_count;
	struct waiting *heap;
	uint32_t waiting;
	struct histogram late;
};

struct impair *impair_new(const struct impair_config *config, uint32_t frame_bytes)
{
	struct impair *m = calloc(1, sizeof *m);
	if (!m)
		return NULL;
	m->config = *config;
	histogram_clear(&m->late);
	if (config->rate_bps)
		m->ticks_per_byte = 8 * clock_global.scale.hz / (double)config->rate_bps;
	m->slot_bytes = (frame_bytes + VLAN_TAG_BYTES + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
	m->slot_count = config->limit + PORT_BURST;
	m->slots = aligned_alloc(LINE_BYTES, (size_t)m->slot_count * m->slot_bytes);
	m->unused = malloc(m->slot_count * sizeof *m->unused);
	m->heap = malloc(config->limit * sizeof *m->heap);
	if (!m->slots || !m->unused || !m->heap) {
		impair_free(m);
		return NULL;
	}
	/* Now, and not when a packet first comes to a page. */
	memset(m->slots, 0, (size_t)m->slot_count * m->slot_bytes);
	memset(m->heap, 0, config->limit * sizeof *m->heap);
	while (m->unused_count < m->slot_count) {
		m->unused[m->unused_count] = m->slot_count - 1 - m->unused_count;
		m->unused_count++;
	}
	return m;
}

void impair_free(struct impair *m)
{
	if (!m)
		return;
	free(m->slots);
	free(m->unused);
	free(m->heap);
	free(m);
}

const struct impair_config *impair_configured(const struct impair *m)
{
	return &m->config;
}

struct impair_counts impair_counted(const struct impair *m)
{
	struct impair_counts c;
	const uint64_t *from = (const uint64_t *)&m->counts;
	uint64_t *to = (uint64_t *)&c;
	_Static_assert(sizeof c % sizeof *to == 0, "only counters");
	for (size_t i = 0; i < sizeof c / sizeof *to; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	return c;
}

const struct histogram *impair_late(const struct impair *m)
{
	return &m->late;
}

static bool is_before(const struct waiting *a, const struct waiting *b)
{
	return a->due_ticks != b->due_ticks ? a->due_ticks < b->due_ticks : a->order < b->order;
}

static void heap_add(struct impair *m, struct waiting w)
{
	uint32_t at = m->waiting++;
	while (at > 0) {
		uint32_t parent = (at - 1) / 2;
		if (!is_before(&w, &m->heap[parent]))
			break;
		m->heap[at] = m->heap[parent];
		at = parent;
	}
	m->heap[at] = w;
}

static struct waiting heap_remove_first(struct impair *m)
{
	struct waiting first = m->heap[0], last = m->heap[--m->waiting];
	uint32_t at = 0;
	for (;;) {
		uint32_t child = 2 * at + 1;
		if (child >= m->waiting)
			break;
		if (child + 1 < m->waiting && is_before(&m->heap[child + 1], &m->heap[child]))
			child++;
		if (!is_before(&m->heap[child], &last))
			break;
		m->heap[at] = m->heap[child];
		at = child;
	}
	if (m->waiting > 0)
		m->heap[at] = last;
	return first;
}

static uint8_t *slot_at(const struct impair *m, uint32_t slot)
{
	return m->slots + (size_t)slot * m->slot_bytes;
}

static bool has_room(const struct impair *m, const struct packet *p)
{
	return m->waiting < m->config.limit && m->unused_count > 0 && p->length <= m->slot_bytes;
}

/* Holds a copy of the packet, for which there is room. */
static void hold(struct impair *m, const struct packet *p, uint64_t due_ticks)
{
	uint32_t slot = m->unused[--m->unused_count];
	memcpy(slot_at(m, slot), p->data, p->length);
	heap_add(m, (struct waiting){due_ticks, m->order++, slot, p->length});
}

static void damage(uint8_t *data, uint32_t length, uint64_t random)
{
	if (length <= ETH_HLEN)
		return;
	uint64_t bit = random % ((uint64_t)(length - ETH_HLEN) * 8);
	data[ETH_HLEN + bit / 8] ^= (uint8_t)(1 << bit % 8);
}

/* When a packet has left at the rate. */
static uint64_t leave(struct impair *m, const struct packet *p, uint64_t now)
{
	if (m->ticks_per_byte == 0)
		return now;
	if (m->free_ticks < now) {
		m->free_ticks = now;
		m->free_fraction = 0;
	}
	double ticks = m->ticks_per_byte * (p->length + FCS_BYTES) + m->free_fraction;
	uint64_t whole = (uint64_t)ticks;
	m->free_ticks += whole;
	m->free_fraction = ticks - (double)whole;
	return m->free_ticks;
}

enum impair_put impair_put(struct impair *m, const struct packet *p, uint64_t now)
{
	struct impair_fate fate = impair_fate(&m->config, m->counts.packets);
	const struct clock_scale *scale = &clock_global.scale;
	port_count(&m->counts.packets, 1);
	if (fate.lost) {
		port_count(&m->counts.lost, 1);
		return IMPAIR_LOST;
	}
	/* A refused packet, or copy, takes no time at the rate: a queue drops before it sends. */
	if (!has_room(m, p)) {
		port_count(&m->counts.refused, 1);
		return IMPAIR_REFUSED;
	}
	uint64_t left = fate.reordered ? now : leave(m, p, now);
	hold(m, p, left + clock_ns_to_ticks(scale, fate.delay_ns));
	/* The packet's slot is the one that was taken last. */
	if (fate.corrupted)
		damage(slot_at(m, m->unused[m->unused_count]), p->length, fate.damage);
	port_count(&m->counts.corrupted, fate.corrupted);
	port_count(&m->counts.reordered, fate.reordered);
	if (fate.duplicated && has_room(m, p)) {
		struct packet same = *p;
		same.data = slot_at(m, m->unused[m->unused_count]);
		uint64_t again = leave(m, p, now) + clock_ns_to_ticks(scale, fate.copy_delay_ns);
		hold(m, &same, again);
		port_count(&m->counts.duplicated, 1);
	}
	return IMPAIR_HELD;
}

unsigned impair_take(struct impair *m, uint64_t now, struct packet *burst, unsigned max)
{
	unsigned count = 0;
	while (count < max && m->waiting > 0 && m->heap[0].due_ticks <= now) {
		struct waiting w = heap_remove_first(m);
		burst[count++] = (struct packet){
			.data = slot_at(m, w.slot),
			.length = w.length,
			.capacity = m->slot_bytes,
			.handle = w.slot,
		};
		histogram_record(&m->late,
				 clock_ticks_to_ns(&clock_global.scale, now - w.due_ticks));
	}
	port_count(&m->counts.given, count);
	return count;
}

void impair_free_taken(struct impair *m, const struct packet *burst, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		m->unused[m->unused_count++] = (uint32_t)burst[i].handle;
}
