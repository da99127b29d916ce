/*
 * mac_table: maps an address in a VLAN to its port.
 *
 * A hash table of buckets that are a cache line each; an address may be in either of two buckets,
 * mostly in its first. There are four times as many places as addresses allowed, so a bucket is
 * hardly ever full. The hash has a random seed; otherwise a guest could choose addresses that
 * collide in one bucket.
 *
 * Readers take no lock: an entry's value is read between two reads of its key. Changes are made
 * under a lock; a packet from a known address at its known port only counts as a change if the
 * coarse clock has advanced since the last one.
 */
#ifndef NINES_MAC_TABLE_H
#define NINES_MAC_TABLE_H

#include <pthread.h>
#include <smmintrin.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	MAC_BUCKET_ENTRIES = 4,
	MAC_TABLE_MIN = 16,
	MAC_TABLE_MAX = 1 << 20,
	/* The coarse clock: quarters of a second. */
	MAC_TICK_NS = 250000000,
};

/* Keys are apart from values, so that all of them can be compared at once. Key: the address's six
 * bytes, little-endian, above 12 bits of VLAN; 0: free. Value: port + 1 in 16 bits, MAC_STATIC, and
 * in the upper half the time when the address was last heard. */
struct mac_bucket {
	_Alignas(64) _Atomic uint64_t keys[MAC_BUCKET_ENTRIES];
	_Atomic uint64_t values[MAC_BUCKET_ENTRIES];
};

enum { MAC_STATIC = 1 << 16 };

struct mac_table {
	struct mac_bucket *buckets;
	uint64_t mask, seed;
	uint32_t capacity;
	_Atomic uint32_t count;
	pthread_spinlock_t lock;
};

/* Room for `capacity` addresses. 0 or -ENOMEM. */
int mac_table_init(struct mac_table *t, uint32_t capacity, uint64_t seed);
void mac_table_free(struct mac_table *t);

/* Makes a key from the 8 bytes loaded at the address, of which 48 bits are used. */
static inline uint64_t mac_key(uint64_t loaded, uint16_t vlan)
{
	return loaded << 16 >> 4 | vlan;
}

static inline uint64_t mac_key_of(const uint8_t mac[6], uint16_t vlan)
{
	uint64_t loaded = 0;
	memcpy(&loaded, mac, 6);
	return mac_key(loaded, vlan);
}

/* The finaliser of MurmurHash3 (Appleby, public domain): every bit of the key reaches
 * every bit of the result, so both buckets are practically random. */
static inline uint64_t mac_hash(const struct mac_table *t, uint64_t key)
{
	uint64_t h = key ^ t->seed;
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdu;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53u;
	return h ^ h >> 33;
}

static inline struct mac_bucket *mac_first(const struct mac_table *t, uint64_t hash)
{
	return &t->buckets[hash & t->mask];
}

static inline struct mac_bucket *mac_second(const struct mac_table *t, uint64_t hash)
{
	return &t->buckets[hash >> 32 & t->mask];
}

/* Does not branch on the key's place in the bucket, which is practically random: with thousands of
 * addresses a loop cost 8 ns per packet, by mispredicted branches. */
static inline uint64_t mac_find_in(const struct mac_bucket *b, uint64_t key)
{
	const __m128i *keys = (const __m128i *)(const void *)b->keys;
	__m128i wanted = _mm_set1_epi64x((long long)key);
	/* Even this load reads each key's eight bytes at once; a match is checked again below. */
	__m128i low = _mm_cmpeq_epi64(_mm_load_si128(&keys[0]), wanted);
	__m128i high = _mm_cmpeq_epi64(_mm_load_si128(&keys[1]), wanted);
	unsigned found = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_packs_epi32(low, high)));
	if (__builtin_expect(found == 0, 0))
		return 0;
	unsigned i = (unsigned)__builtin_ctz(found);
	atomic_signal_fence(memory_order_acquire);
	uint64_t value = atomic_load_explicit(&b->values[i], memory_order_acquire);
	/* Another address may have taken the place meanwhile. */
	return atomic_load_explicit(&b->keys[i], memory_order_relaxed) == key ? value : 0;
}

/* An entry's value, or 0 when the address is not known. */
static inline uint64_t mac_find(const struct mac_table *t, uint64_t key, uint64_t hash)
{
	uint64_t value = mac_find_in(mac_first(t, hash), key);
	if (__builtin_expect(value != 0, 1))
		return value;
	return mac_find_in(mac_second(t, hash), key);
}

/* The value for an address that was heard just now. */
static inline uint64_t mac_value(unsigned port, uint32_t now)
{
	return (uint64_t)now << 32 | (port + 1);
}

static inline unsigned mac_port(uint64_t value)
{
	return (unsigned)(value & 0xffff) - 1;
}

/* Notes that an address was heard at a port. False when the table is full. */
bool mac_table_learn(struct mac_table *t, uint64_t key, unsigned port, uint32_t now);

/* Adds an address that neither ages nor moves. False when the table is full. */
bool mac_table_add_static(struct mac_table *t, uint64_t key, unsigned port);

/* Removes addresses not heard for `age` ticks. */
void mac_table_expire(struct mac_table *t, uint32_t now, uint32_t age);

/* Removes all addresses at a port. */
void mac_table_flush(struct mac_table *t, unsigned port);

/* Calls `visit` for each entry, under the lock. */
void mac_table_each(struct mac_table *t, void (*visit)(void *arg, uint64_t key, uint64_t value),
		    void *arg);

/* The parts of a key. */
static inline uint16_t mac_key_vlan(uint64_t key)
{
	return key & 0xfff;
}

static inline void mac_key_address(uint64_t key, uint8_t mac[6])
{
	uint64_t address = key >> 12;
	memcpy(mac, &address, 6);
}

#endif
