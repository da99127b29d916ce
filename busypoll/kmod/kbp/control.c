// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/net/nines_kbp, one in each network namespace. Reading it lists the NAPI instances
 * of the namespace's devices, and the state of those that are polled. It accepts
 *
 *   poll IFINDEX INDEX GROUP LONGEST   poll an instance, by one thread for all instances
 *                                      with that number, which is not 0 and the writer's
 *                                      to choose; it sleeps up to LONGEST ns if idle
 *   leave IFINDEX INDEX                give it back (-1: all of the device)
 */
#include <linux/capability.h>
#include <linux/proc_fs.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>
#include <net/net_namespace.h>

#include "kbp.h"

/* To be increased when the lines below change. */
#define KBP_FORMAT 1
#define KBP_FILE   "nines_kbp"

static struct kbp_entry *kbp_entry_of(struct net_device *dev, unsigned int index)
{
	struct kbp_entry *e;

	list_for_each_entry(e, &kbp_entries, all) if (e->dev == dev && e->index == index) return e;
	return NULL;
}

/* napi is NULL for an instance that is polled again once its device recreates it. */
static void kbp_show_instance(struct seq_file *file, struct net_device *dev, unsigned int index,
			      struct napi_struct *napi, struct kbp_entry *e)
{
	seq_printf(file, "%d %s %u %u %s", dev->ifindex, dev->name, index, napi ? napi->napi_id : 0,
		   !napi	     ? "gone"
		   : kbp_sends(napi) ? "tx"
				     : "rx");
	if (e)
		seq_printf(file, " %u %llu %d %d %llu %llu %llu %llu %llu\n", e->thread->group,
			   e->thread->longest_ns, task_pid_vnr(e->thread->task),
			   READ_ONCE(e->owned), READ_ONCE(e->polls), READ_ONCE(e->packets),
			   READ_ONCE(e->empty), READ_ONCE(e->handovers),
			   READ_ONCE(e->thread->sleeps));
	else
		seq_puts(file, " 0 0 0 0 0 0 0 0 0\n");
}

static void kbp_show_device(struct seq_file *file, struct net_device *dev)
{
	struct napi_struct *napi;
	struct kbp_entry *e;
	unsigned int index;

	for (index = 0; (napi = kbp_instance(dev, index)); index++)
		kbp_show_instance(file, dev, index, napi, kbp_entry_of(dev, index));
	list_for_each_entry(e, &kbp_entries, all) if (e->dev == dev && e->index >= index)
		kbp_show_instance(file, dev, e->index, NULL, e);
}

static int kbp_show(struct seq_file *file, void *unused)
{
	struct net_device *dev;

	rtnl_lock();
	mutex_lock(&kbp_mutex);
	seq_printf(file, "%s %d %s\n", KBP_FILE, KBP_FORMAT, kbp_is_open() ? "open" : "closed");
	seq_puts(
		file,
		"ifindex name index napi kind group longest thread owned polls packets empty handovers sleeps\n");
	for_each_netdev(seq_file_single_net(file), dev) kbp_show_device(file, dev);
	mutex_unlock(&kbp_mutex);
	rtnl_unlock();
	return 0;
}

/* A polling thread takes a CPU of the whole machine, so a container's own root must not
 * create one.
 */
static int kbp_write(struct file *file, char *text, size_t size)
{
	struct net *net = seq_file_single_net(file->private_data);
	unsigned long long longest;
	unsigned int index, group;
	int ifindex, which, end = 0;

	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	if (sscanf(text, "poll %d %u %u %llu %n", &ifindex, &index, &group, &longest, &end) == 4 &&
	    !text[end] && group)
		return kbp_choose(net, ifindex, index, group, longest);
	if (sscanf(text, "leave %d %d %n", &ifindex, &which, &end) == 2 && !text[end])
		return kbp_leave(net, ifindex, which);
	return -EINVAL;
}

static int __net_init kbp_net_init(struct net *net)
{
	if (!proc_create_net_single_write(KBP_FILE, 0600, net->proc_net, kbp_show, kbp_write, NULL))
		return -ENOMEM;
	return 0;
}

static void __net_exit kbp_net_exit(struct net *net)
{
	remove_proc_entry(KBP_FILE, net->proc_net);
}

static struct pernet_operations kbp_net_ops = {.init = kbp_net_init, .exit = kbp_net_exit};

int kbp_control_init(void)
{
	return register_pernet_subsys(&kbp_net_ops);
}

void kbp_control_exit(void)
{
	unregister_pernet_subsys(&kbp_net_ops);
}
