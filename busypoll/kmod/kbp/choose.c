// SPDX-License-Identifier: GPL-2.0
/*
 * Which thread polls which instances. All changes are made with RTNL and kbp_mutex held, so
 * that a device does not go away while one of its instances is being chosen; a notifier
 * takes off the instances of devices that do.
 */
#include <linux/hashtable.h>
#include <linux/kthread.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "kbp.h"

DEFINE_MUTEX(kbp_mutex);
LIST_HEAD(kbp_entries);
LIST_HEAD(kbp_threads);

static DEFINE_HASHTABLE(kbp_table, 6); /* by device; under kbp_mutex, read under RCU */
static unsigned int kbp_count; /* of entries; 0 saves the lookup */
static bool kbp_opened; /* under kbp_mutex */

/* kbp_hand_over gives a scheduled instance to its thread, if it has one. Any context. */
bool kbp_hand_over(struct napi_struct *napi)
{
	struct kbp_entry *e;
	bool handed = false;

	if (likely(!READ_ONCE(kbp_count)))
		return false;
	rcu_read_lock();
	hash_for_each_possible_rcu(kbp_table, e, hashed, (unsigned long)napi->dev)
	{
		if (e->dev != napi->dev || READ_ONCE(e->napi) != napi)
			continue;
		/* Full only if e->napi has been freed and recreated elsewhere. */
		if (!cmpxchg(&e->handed, NULL, napi)) {
			handed = true;
			kbp_wake(e->thread);
		}
		break;
	}
	rcu_read_unlock();
	return handed;
}

static struct kbp_thread *kbp_thread_new(u32 group, u64 longest_ns)
{
	struct kbp_thread *t;

	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return ERR_PTR(-ENOMEM);
	t->group = group;
	t->longest_ns = longest_ns;
	spin_lock_init(&t->lock);
	INIT_LIST_HEAD(&t->arriving);
	INIT_LIST_HEAD(&t->polled);
	t->task = kthread_create(kbp_main, t, "nines_kbp/%u", group);
	if (IS_ERR(t->task)) {
		long err = PTR_ERR(t->task);

		kfree(t);
		return ERR_PTR(err);
	}
	/* It is ours until kthread_stop(): a kthread does not return before it is stopped. */
	list_add_tail(&t->all, &kbp_threads);
	wake_up_process(t->task);
	return t;
}

static void kbp_thread_end(struct kbp_thread *t)
{
	list_del(&t->all);
	kthread_stop(t->task);
	kfree(t);
}

/* kbp_thread_of returns a group's thread, and creates it if needed. */
static struct kbp_thread *kbp_thread_of(u32 group, u64 longest_ns)
{
	struct kbp_thread *t;

	list_for_each_entry(t, &kbp_threads, all) if (t->group == group) return t->longest_ns ==
			longest_ns
		? t
		: ERR_PTR(-EINVAL);
	return kbp_thread_new(group, longest_ns);
}

static int kbp_choose_locked(struct net *net, int ifindex, unsigned int index, u32 group,
			     u64 longest_ns)
{
	struct net_device *dev;
	struct kbp_entry *e;
	struct kbp_thread *t;

	if (!kbp_opened)
		return -EAGAIN; /* the patch is not applied yet, or no longer */
	dev = __dev_get_by_index(net, ifindex);
	if (!dev || dev->reg_state != NETREG_REGISTERED)
		return -ENODEV;
	if (!kbp_instance(dev, index))
		return -ENOENT;
	list_for_each_entry(e, &kbp_entries,
			    all) if (e->dev == dev && e->index == index) return -EBUSY;
	e = kzalloc(sizeof(*e), GFP_KERNEL);
	if (!e)
		return -ENOMEM;
	t = kbp_thread_of(group, longest_ns);
	if (IS_ERR(t)) {
		kfree(e);
		return PTR_ERR(t);
	}
	dev_hold(dev);
	e->dev = dev;
	e->index = index;
	e->thread = t;
	init_completion(&e->left);
	t->entries++;
	list_add_tail(&e->all, &kbp_entries);
	hash_add_rcu(kbp_table, &e->hashed, (unsigned long)dev);
	WRITE_ONCE(kbp_count, kbp_count + 1);
	spin_lock(&t->lock);
	list_add_tail(&e->mine, &t->arriving);
	spin_unlock(&t->lock);
	smp_mb(); /* kbp_sleep() has the other half */
	kbp_wake(t);
	return 0;
}

/* kbp_choose lets the group's thread poll an instance; the thread sleeps up to longest_ns
 * without packets.
 */
int kbp_choose(struct net *net, int ifindex, unsigned int index, u32 group, u64 longest_ns)
{
	int err;

	rtnl_lock();
	mutex_lock(&kbp_mutex);
	err = kbp_choose_locked(net, ifindex, index, group, longest_ns);
	mutex_unlock(&kbp_mutex);
	rtnl_unlock();
	return err;
}

/* kbp_leave_locked gives back the instances of a device (NULL: of all), or one of them
 * (index -1: all), and returns how many. The kernel polls them again when it returns.
 */
static int kbp_leave_locked(struct net_device *dev, int index)
{
	struct kbp_entry *e, *next;
	LIST_HEAD(leaving);
	int count = 0;

	list_for_each_entry_safe(e, next, &kbp_entries, all)
	{
		if ((dev && e->dev != dev) || (index >= 0 && e->index != index))
			continue;
		hash_del_rcu(&e->hashed);
		list_move_tail(&e->all, &leaving);
		count++;
	}
	if (!count)
		return 0;
	WRITE_ONCE(kbp_count, kbp_count - count);
	synchronize_net(); /* after it no CPU hands over to them */
	list_for_each_entry(e, &leaving, all)
	{
		WRITE_ONCE(e->leaving, true);
		smp_mb();
		kbp_wake(e->thread);
	}
	list_for_each_entry_safe(e, next, &leaving, all)
	{
		wait_for_completion(&e->left);
		if (!--e->thread->entries)
			kbp_thread_end(e->thread);
		dev_put(e->dev);
		kfree(e);
	}
	return count;
}

/* kbp_leave gives back a device's instance, or all of them for -1. */
int kbp_leave(struct net *net, int ifindex, int index)
{
	struct net_device *dev;
	int err = -ENODEV;

	rtnl_lock();
	mutex_lock(&kbp_mutex);
	dev = __dev_get_by_index(net, ifindex);
	if (dev)
		err = kbp_leave_locked(dev, index) ? 0 : -ENOENT;
	mutex_unlock(&kbp_mutex);
	rtnl_unlock();
	return err;
}

/* kbp_open allows instances to be chosen; kbp_close ends that and gives all back. */
void kbp_open(void)
{
	mutex_lock(&kbp_mutex);
	kbp_opened = true;
	mutex_unlock(&kbp_mutex);
}

void kbp_close(void)
{
	rtnl_lock();
	mutex_lock(&kbp_mutex);
	kbp_opened = false;
	kbp_leave_locked(NULL, -1);
	mutex_unlock(&kbp_mutex);
	rtnl_unlock();
}

bool kbp_is_open(void)
{
	return kbp_opened;
}

/* Gives back the instances of devices that go away or move to another network namespace. */
static int kbp_event(struct notifier_block *block, unsigned long event, void *data)
{
	if (event == NETDEV_UNREGISTER) {
		mutex_lock(&kbp_mutex);
		kbp_leave_locked(netdev_notifier_info_to_dev(data), -1);
		mutex_unlock(&kbp_mutex);
	}
	return NOTIFY_DONE;
}

static struct notifier_block kbp_notifier = {.notifier_call = kbp_event};

int kbp_choose_init(void)
{
	return register_netdevice_notifier(&kbp_notifier);
}

void kbp_choose_exit(void)
{
	unregister_netdevice_notifier(&kbp_notifier);
}
