// SPDX-License-Identifier: GPL-2.0
/*
 * A polling thread: takes its instances, polls one after another, and gives them back when
 * they are disabled or left.
 */
#include <linux/filter.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/netpoll.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <trace/events/napi.h>

#include "kbp.h"

/* How often a thread looks again that can take none of its instances (devices that are down). */
#define KBP_LOOK_AGAIN_NS (1 * NSEC_PER_MSEC)
/* An adaptive thread sleeps only after it was idle for this long: about a context switch
 * there and back.
 */
#define KBP_AWAKE_NS (10 * NSEC_PER_USEC)

/* kbp_take takes an instance that has no owner, or has been handed over. */
static bool kbp_take(struct kbp_entry *e)
{
	struct napi_struct *napi;
	unsigned long state;

	if (READ_ONCE(e->handed)) {
		napi = xchg(&e->handed, NULL);
		WRITE_ONCE(e->napi, napi);
		if (!kbp_sends(napi))
			set_bit(NAPI_STATE_IN_BUSY_POLL, &napi->state);
		e->handovers++;
		e->owned = true;
		return true;
	}
	rcu_read_lock();
	napi = kbp_instance(e->dev, e->index);
	if (READ_ONCE(e->napi) != napi)
		WRITE_ONCE(e->napi, napi);
	if (napi && !kbp_sends(napi)) {
		state = READ_ONCE(napi->state);
		e->owned = !(state & (NAPIF_STATE_DISABLE | NAPIF_STATE_SCHED |
				      NAPIF_STATE_IN_BUSY_POLL)) &&
			   cmpxchg(&napi->state, state,
				   state | NAPIF_STATE_SCHED | NAPIF_STATE_IN_BUSY_POLL) == state;
	}
	rcu_read_unlock();
	return e->owned;
}

/* kbp_deliver passes on what GRO holds back, as napi_complete_done() does without busy
 * polling. With more packets waiting, the newest may still grow.
 */
static void kbp_deliver(struct napi_struct *napi, bool more)
{
	if (napi->gro_bitmask)
		napi_gro_flush(napi, more && HZ >= 1000);
	if (napi->rx_count) {
		netif_receive_skb_list(&napi->rx_list);
		INIT_LIST_HEAD(&napi->rx_list);
		napi->rx_count = 0;
	}
}

/* kbp_poll_once polls an owned instance. To release it, it polls once more without busy
 * polling, so that the driver completes it and turns its interrupt on; if there are too
 * many packets for that, whatever polls it next gets it.
 */
static int kbp_poll_once(struct kbp_entry *e, bool release)
{
	struct napi_struct *napi = e->napi;
	int work, weight = napi->weight;
	void *locked;
#ifdef KBP_6_12
	struct bpf_net_context on_stack, *context;
#endif

	if (release) {
		/* This poll also serves those who failed to schedule it meanwhile. */
		clear_bit(NAPI_STATE_MISSED, &napi->state);
		clear_bit(NAPI_STATE_IN_BUSY_POLL, &napi->state);
	}
	/* Other softirqs wait until the packets are delivered, and run then, in
	 * local_bh_enable() (section 4.1 of the paper calls it deadlock control).
	 */
	local_bh_disable();
#ifdef KBP_6_12
	context = bpf_net_ctx_set(&on_stack);
#endif
	locked = netpoll_poll_lock(napi);
	work = napi->poll(napi, weight);
	trace_napi_poll(napi, work, weight);
	if (!release) {
		kbp_deliver(napi, work >= weight);
	} else if (work < weight) {
		e->owned = false; /* the driver has completed it: another may own it */
	} else if (napi_disable_pending(napi)) {
		napi_complete(napi);
		e->owned = false;
	} else {
		kbp_deliver(napi, true);
		if (e->leaving) {
			e->owned = false;
			__napi_schedule(napi);
		}
	}
	netpoll_poll_unlock(locked);
#ifdef KBP_6_12
	bpf_net_ctx_clear(context);
#endif
	local_bh_enable();
	e->polls++;
	e->packets += work;
	e->empty += !work;
	return work;
}

/* kbp_poll polls an entry in its turn. */
static int kbp_poll(struct kbp_entry *e)
{
	if (!e->owned && !kbp_take(e))
		return 0;
	return kbp_poll_once(e, napi_disable_pending(e->napi) || kbp_sends(e->napi));
}

/* kbp_quit is an entry's last turn. It is no longer handed over, but may have been. */
static void kbp_quit(struct kbp_entry *e)
{
	if (!e->owned && READ_ONCE(e->handed))
		kbp_take(e);
	while (e->owned)
		kbp_poll_once(e, true);
	list_del(&e->mine);
	complete(&e->left);
}

static void kbp_adopt(struct kbp_thread *t)
{
	spin_lock(&t->lock);
	list_splice_tail_init(&t->arriving, &t->polled);
	spin_unlock(&t->lock);
}

/* kbp_wanted reports whether the thread has work. */
static bool kbp_wanted(struct kbp_thread *t)
{
	struct kbp_entry *e;

	if (kthread_should_stop() || !list_empty_careful(&t->arriving))
		return true;
	list_for_each_entry(e, &t->polled,
			    mine) if (READ_ONCE(e->handed) || READ_ONCE(e->leaving)) return true;
	return false;
}

static void kbp_sleep(struct kbp_thread *t, u64 ns)
{
	ktime_t time = ns_to_ktime(ns);

	WRITE_ONCE(t->asleep, true);
	set_current_state(TASK_INTERRUPTIBLE); /* a barrier: kbp_wake() is its other half */
	if (!kbp_wanted(t))
		schedule_hrtimeout_range(&time, ns / 8, HRTIMER_MODE_REL);
	__set_current_state(TASK_RUNNING);
	WRITE_ONCE(t->asleep, false);
	t->sleeps++;
}

/* kbp_wake is called after the state that kbp_wanted() checks was set, with a full barrier
 * in between; from any context.
 */
void kbp_wake(struct kbp_thread *t)
{
	if (READ_ONCE(t->asleep))
		wake_up_process(t->task);
}

int kbp_main(void *thread)
{
	struct kbp_thread *t = thread;
	struct kbp_entry *e, *next;
	u64 now, idle_since = 0;
	unsigned long switched = jiffies;
	bool owned;
	int work;

	while (!kthread_should_stop()) {
		if (!list_empty_careful(&t->arriving))
			kbp_adopt(t);
		owned = false;
		work = 0;
		list_for_each_entry_safe(e, next, &t->polled, mine)
		{
			if (unlikely(READ_ONCE(e->leaving))) {
				kbp_quit(e);
				continue;
			}
			work += kbp_poll(e);
			owned |= e->owned;
		}
		if (!owned) {
			kbp_sleep(t, KBP_LOOK_AGAIN_NS);
		} else if (work || !t->longest_ns) {
			idle_since = 0;
			cpu_relax();
		} else {
			/* Half of the time without packets so far: a sleep then lengthens
			 * the wait for the next packet by half at most.
			 */
			now = local_clock();
			if (!idle_since)
				idle_since = now;
			else if (now - idle_since > KBP_AWAKE_NS)
				kbp_sleep(t, min((now - idle_since) / 2, t->longest_ns));
		}
		/* RCU and RCU tasks need a thread to give up its CPU now and then, even if
		 * no other wants it; cond_resched() alone is not enough for the latter.
		 */
		if (time_after(jiffies, switched + HZ / 50)) {
			switched = jiffies;
			schedule();
		} else {
			cond_resched();
		}
	}
	return 0;
}
