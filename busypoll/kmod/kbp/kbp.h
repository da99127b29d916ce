/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel busy poll: threads that poll chosen NAPI instances all the time, in place of
 * the receive softirq.
 *
 *   device ── interrupt ──▸ __napi_schedule() ── others ──▸ NET_RX softirq ──▸ poll()
 *                                │ (patch.c)
 *                                └── chosen ──▸ thread (poll.c) ──▸ poll() ──▸ sockets
 *
 * Code that sets an instance's NAPI_STATE_SCHED owns it: nothing else may call its poll(), and
 * napi_disable(), which precedes every removal, waits until it is released. A thread
 * that owns an instance keeps it: NAPI_STATE_IN_BUSY_POLL tells napi_complete_done() not
 * to release it when the device is empty, so that its interrupt stays off.
 * napi_busy_loop() does the same for a while, and threaded busy polling of Linux 6.19 for
 * good.
 *
 * A thread touches an instance that it does not own only inside of an RCU read-side
 * section in which it has found it in its device's list.
 */
#ifndef NINES_KBP_H
#define NINES_KBP_H

#include <linux/completion.h>
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0) && LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define KBP_6_1
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0) && \
	LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define KBP_6_12
#else
#error "kbp replaces __napi_schedule() of Linux 6.1 and 6.12, as Debian 12 and 13 have them"
#endif

#ifndef CONFIG_64BIT
#error "kbp reads 64-bit counters while a thread writes them"
#endif

/* A thread that polls one or more instances. */
struct kbp_thread {
	struct list_head all; /* in kbp_threads; under kbp_mutex */
	struct task_struct *task;
	u32 group; /* all with that number share the thread */
	unsigned int entries; /* under kbp_mutex */
	spinlock_t lock; /* of arriving */
	struct list_head arriving; /* entries that the thread has not seen yet */
	struct list_head polled; /* the thread's own */
	bool asleep; /* tells kbp_wake() to wake it */
	u64 longest_ns; /* the longest sleep without packets; 0: none */
	u64 sleeps;
};

/* An instance that a thread polls. */
struct kbp_entry {
	struct hlist_node hashed; /* by dev, for __napi_schedule() */
	struct list_head all; /* in kbp_entries; under kbp_mutex */
	struct list_head mine; /* in the thread's lists */
	struct kbp_thread *thread;
	struct net_device *dev;
	/* The position among the instances of dev, in the order in which its driver added
	 * them: it stays when a driver recreates them, as veth does with each ip link set
	 * up; their napi_id does not.
	 */
	unsigned int index;
	struct napi_struct *napi; /* the thread's last; valid only if owned */
	struct napi_struct *handed; /* by __napi_schedule(): SCHED is set, the thread owns it */
	bool owned; /* the thread's own */
	bool leaving;
	struct completion left;
	/* Counted by the thread. */
	u64 polls, packets, empty, handovers;
};

/* instance.c: a device's instances. */
struct napi_struct *kbp_instance(struct net_device *dev, unsigned int index);

/* choose.c: which thread polls what. */
extern struct mutex kbp_mutex; /* taken with RTNL held */
extern struct list_head kbp_entries, kbp_threads;

int kbp_choose(struct net *net, int ifindex, unsigned int index, u32 group, u64 longest_ns);
int kbp_leave(struct net *net, int ifindex, int index);
void kbp_open(void);
void kbp_close(void);
bool kbp_is_open(void);
bool kbp_hand_over(struct napi_struct *napi);
int kbp_choose_init(void);
void kbp_choose_exit(void);

/* poll.c: the threads. */
int kbp_main(void *thread);
void kbp_wake(struct kbp_thread *thread);

/* control.c: /proc/net/nines_kbp. */
int kbp_control_init(void);
void kbp_control_exit(void);

/* Instances that only clean up after sending (netif_napi_add_tx) get interrupts and are
 * polled after each: polling them all the time would contend with senders for their queue's
 * lock.
 */
static inline bool kbp_sends(const struct napi_struct *napi)
{
	return test_bit(NAPI_STATE_NO_BUSY_POLL, &napi->state);
}

#endif
