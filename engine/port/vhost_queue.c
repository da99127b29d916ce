/* Wakes the guest; see vhost_queue.h. */
#include "port/vhost_queue.h"

/* Virtio 1.2, sections 2.7.7.1 and 2.7.10: with the event index, the guest names the used entry
 * from which it wants to be woken; without it, a flag says whether it wants to be. */
static bool guest_waits(const struct vhost_queue *q)
{
	uint16_t flags = *(const volatile uint16_t *)&q->available->flags;
	if (!q->event_index)
		return !(flags & VRING_AVAIL_F_NO_INTERRUPT);
	uint16_t event = *(const volatile uint16_t *)&q->available->ring[q->size];
	return !q->told_once || vring_need_event(event, q->used_index, q->told);
}

void vhost_tell(struct vhost_queue *q)
{
	q->must_tell = false;
	if (q->call_fd < 0)
		return;
	/* The guest announces that it waits, then checks the used index once more. */
	atomic_thread_fence(memory_order_seq_cst);
	bool waits = guest_waits(q);
	q->told = q->used_index;
	q->told_once = true;
	if (waits)
		vhost_call(&q->call, q->call_fd);
}
