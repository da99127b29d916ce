// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The fields of the kernel's types that the recorder reads, and no others. The loader finds
 * their offsets in the running kernel's BTF (preserve_access_index), so that one object fits all
 * kernels since 6.1. Names are the kernel's own.
 */
#ifndef NINES_TRACE_KERNEL_H
#define NINES_TRACE_KERNEL_H

#include <linux/types.h>
#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* include/linux/sched.h */
struct thread_info {
	__u32 cpu;
};
struct task_struct {
	struct thread_info thread_info;
	int pid;
	int prio;
	char comm[16];
};

/* include/linux/workqueue_types.h, timer_types.h, hrtimer_types.h */
struct work_struct {
	void *func;
};
struct timer_list {
	void *function;
};
struct hrtimer {
	void *function;
};

/* include/linux/netdevice.h, skbuff.h */
struct ns_common {
	unsigned int inum;
};
struct net {
	struct ns_common ns;
};
typedef struct {
	struct net *net;
} possible_net_t;
struct net_device {
	char name[16];
	int ifindex;
	possible_net_t nd_net;
};
struct napi_struct {
	struct net_device *dev;
};
struct sock_common {
	possible_net_t skc_net;
};
struct sock {
	struct sock_common __sk_common;
};
struct sk_buff {
	struct net_device *dev;
	unsigned int len;
	__u32 mark;
	__u16 network_header;
	unsigned char *head;
	unsigned char *data;
};

/* include/linux/cpumask_types.h: as many words as the kernel has CPUs for */
struct cpumask {
	unsigned long bits[1];
};

#pragma clang attribute pop

#endif
