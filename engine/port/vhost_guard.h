/*
 * vhost_guard: keeps a data thread away from what the protocol thread removes.
 *
 * The data thread enters for a burst and leaves when it has returned every buffer. The protocol
 * thread shuts the guard before it changes a ring or unmaps a guest's memory, and waits until no
 * thread is inside. Entering costs two plain stores and a load: the barrier that such a handshake
 * needs is only on the other side, as membarrier(2), private and expedited, Linux 4.14.
 */
#ifndef NINES_VHOST_GUARD_H
#define NINES_VHOST_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>

struct vhost_guard {
	_Alignas(64) atomic_bool inside; /* written by the data thread */
	_Alignas(64) atomic_bool open; /* written by the protocol thread */
};

/* Call once per process before any guard is used; -errno without membarrier. */
int vhost_guard_init(void);

/* Protocol thread. When it returns, no data thread is inside, and none can enter. */
void vhost_guard_shut(struct vhost_guard *g);

static inline void vhost_guard_open(struct vhost_guard *g)
{
	atomic_store_explicit(&g->open, true, memory_order_release);
}

static inline bool vhost_guard_is_open(const struct vhost_guard *g)
{
	return atomic_load_explicit(&g->open, memory_order_acquire);
}

/* Data thread. */
static inline void vhost_guard_leave(struct vhost_guard *g)
{
	atomic_store_explicit(&g->inside, false, memory_order_release);
}

static inline bool vhost_guard_enter(struct vhost_guard *g)
{
	atomic_store_explicit(&g->inside, true, memory_order_relaxed);
	/* A barrier for the compiler; membarrier makes it one for the CPU. */
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(vhost_guard_is_open(g), 1))
		return true;
	vhost_guard_leave(g);
	return false;
}

#endif
