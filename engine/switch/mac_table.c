/* Changes the table; see mac_table.h. */
#include "switch/mac_table.h"

#include <errno.h>
#include <stdlib.h>

int mac_table_init(struct mac_table *t, uint32_t capacity, uint64_t seed)
{
	uint64_t buckets = 1;
	while (buckets * MAC_BUCKET_ENTRIES < 4 * (uint64_t)capacity)
		buckets *= 2;
	memset(t, 0, sizeof *t);
	t->buckets = aligned_alloc(64, buckets * sizeof *t->buckets);
	if (!t->buckets)
		return -ENOMEM;
	memset(t->buckets, 0, buckets * sizeof *t->buckets);
	t->mask = buckets - 1;
	t->seed = seed;
	t->capacity = capacity;
	pthread_spin_init(&t->lock, PTHREAD_PROCESS_PRIVATE);
	return 0;
}

void mac_table_free(struct mac_table *t)
{
	pthread_spin_destroy(&t->lock);
	free(t->buckets);
}

/* One place in a bucket; bucket NULL: none. */
struct place {
	struct mac_bucket *bucket;
	int i;
};

static _Atomic uint64_t *value_at(struct place p)
{
	return &p.bucket->values[p.i];
}

static struct place find(struct mac_table *t, uint64_t key)
{
	uint64_t hash = mac_hash(t, key);
	struct mac_bucket *buckets[] = {mac_first(t, hash), mac_second(t, hash)};
	for (int b = 0; b < 2; b++)
		for (int i = 0; i < MAC_BUCKET_ENTRIES; i++)
			if (atomic_load(&buckets[b]->keys[i]) == key)
				return (struct place){buckets[b], i};
	return (struct place){0};
}

static struct place free_place(struct mac_bucket *b, int *count)
{
	struct place place = {0};
	*count = 0;
	for (int i = 0; i < MAC_BUCKET_ENTRIES; i++) {
		bool free = atomic_load(&b->keys[i]) == 0;
		*count += free;
		if (free && !place.bucket)
			place = (struct place){b, i};
	}
	return place;
}

/* Prefers the first bucket, which lookups check first, unless it is nearly full and the second is
 * emptier. So neither fills up. */
static struct place place_for(struct mac_table *t, uint64_t hash)
{
	int first_free, second_free;
	struct place first = free_place(mac_first(t, hash), &first_free);
	struct place second = free_place(mac_second(t, hash), &second_free);
	return first_free > 1 || first_free >= second_free ? first : second;
}

static bool add(struct mac_table *t, uint64_t key, uint64_t value)
{
	struct place p = place_for(t, mac_hash(t, key));
	if (!p.bucket || atomic_load(&t->count) >= t->capacity)
		return false;
	/* Readers see the key last. */
	atomic_store(value_at(p), value);
	atomic_store(&p.bucket->keys[p.i], key);
	atomic_fetch_add(&t->count, 1);
	return true;
}

bool mac_table_learn(struct mac_table *t, uint64_t key, unsigned port, uint32_t now)
{
	bool done = true;
	pthread_spin_lock(&t->lock);
	struct place p = find(t, key);
	if (!p.bucket)
		done = add(t, key, mac_value(port, now));
	else if (!(atomic_load(value_at(p)) & MAC_STATIC))
		atomic_store(value_at(p), mac_value(port, now));
	pthread_spin_unlock(&t->lock);
	return done;
}

bool mac_table_add_static(struct mac_table *t, uint64_t key, unsigned port)
{
	bool done = true;
	uint64_t value = mac_value(port, 0) | MAC_STATIC;
	pthread_spin_lock(&t->lock);
	struct place p = find(t, key);
	if (p.bucket)
		atomic_store(value_at(p), value);
	else
		done = add(t, key, value);
	pthread_spin_unlock(&t->lock);
	return done;
}

/* Locks one bucket at a time, so that learning never waits for long. */
static void remove_where(struct mac_table *t, bool (*wanted)(uint64_t value, uint64_t arg),
			 uint64_t arg)
{
	for (uint64_t b = 0; b <= t->mask; b++) {
		pthread_spin_lock(&t->lock);
		for (int i = 0; i < MAC_BUCKET_ENTRIES; i++) {
			struct mac_bucket *at = &t->buckets[b];
			if (!atomic_load(&at->keys[i]) || !wanted(atomic_load(&at->values[i]), arg))
				continue;
			atomic_store(&at->keys[i], 0);
			atomic_fetch_sub(&t->count, 1);
		}
		pthread_spin_unlock(&t->lock);
	}
}

static bool heard_before(uint64_t value, uint64_t since)
{
	return !(value & MAC_STATIC) && (value >> 32) < since;
}

void mac_table_expire(struct mac_table *t, uint32_t now, uint32_t age)
{
	if (now > age)
		remove_where(t, heard_before, now - age);
}

static bool is_behind(uint64_t value, uint64_t port)
{
	return mac_port(value) == port;
}

void mac_table_flush(struct mac_table *t, unsigned port)
{
	remove_where(t, is_behind, port);
}

void mac_table_each(struct mac_table *t, void (*visit)(void *arg, uint64_t key, uint64_t value),
		    void *arg)
{
	for (uint64_t b = 0; b <= t->mask; b++) {
		pthread_spin_lock(&t->lock);
		for (int i = 0; i < MAC_BUCKET_ENTRIES; i++) {
			uint64_t key = atomic_load(&t->buckets[b].keys[i]);
			if (key)
				visit(arg, key, atomic_load(&t->buckets[b].values[i]));
		}
		pthread_spin_unlock(&t->lock);
	}
}
