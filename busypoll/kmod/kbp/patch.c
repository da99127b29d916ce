// SPDX-License-Identifier: GPL-2.0
/*
 * The live patch: __napi_schedule() and __napi_schedule_irqoff() (net/core/dev.c), which
 * drivers call when they have packets, hand chosen instances to their threads. For all
 * others they do the same as the functions of Linux 6.1 and 6.12.
 */
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kernel.h>
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/sched.h>

#include "kbp.h"

static void kbp_nothing(struct irq_work *work)
{
}

/* Only its interrupt matters: softirqs run after it. */
static DEFINE_PER_CPU(struct irq_work, kbp_soon) = IRQ_WORK_INIT_HARD(kbp_nothing);

/* kbp_raise_net_rx raises the receive softirq as raise_softirq_irqoff() does, which modules
 * cannot call. It lacks the tracepoint softirq_raise, and in a task with softirqs on it
 * sends an interrupt instead of waking ksoftirqd.
 */
static void kbp_raise_net_rx(void)
{
	or_softirq_pending(1UL << NET_RX_SOFTIRQ);
	if (!in_interrupt())
		irq_work_queue(this_cpu_ptr(&kbp_soon));
}

/* kbp_raise schedules the instance as without this module: its own thread polls it if it is
 * threaded, otherwise this CPU's softirq. Interrupts are off.
 */
static void kbp_raise(struct napi_struct *napi)
{
	struct softnet_data *sd = this_cpu_ptr(&softnet_data);
	struct task_struct *thread;

	/* 6.12: a CPU's own backlog belongs to its softirq even if backlogs have threads. */
	if (test_bit(NAPI_STATE_THREADED, &napi->state) && napi != &sd->backlog) {
		thread = READ_ONCE(napi->thread);
		if (thread) {
#ifdef KBP_6_1
			/* napi_thread_wait() takes a wake-up for permission to poll. */
			if (READ_ONCE(thread->__state) != TASK_INTERRUPTIBLE)
#endif
				set_bit(NAPI_STATE_SCHED_THREADED, &napi->state);
			wake_up_process(thread);
			return;
		}
	}
	list_add_tail(&napi->poll_list, &sd->poll_list);
#ifdef KBP_6_12
	WRITE_ONCE(napi->list_owner, smp_processor_id());
	if (sd->in_net_rx_action) /* it checks the list before it ends */
		return;
#endif
	kbp_raise_net_rx();
}

static void kbp_napi_schedule(struct napi_struct *napi)
{
	unsigned long flags;

	if (kbp_hand_over(napi))
		return;
	local_irq_save(flags);
	kbp_raise(napi);
	local_irq_restore(flags);
}

static void kbp_napi_schedule_irqoff(struct napi_struct *napi)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT)) /* where interrupts may be on after all */
		kbp_napi_schedule(napi);
	else if (!kbp_hand_over(napi))
		kbp_raise(napi);
}

static void kbp_patched(struct klp_object *object)
{
	kbp_open();
}

static void kbp_unpatching(struct klp_object *object)
{
	kbp_close();
}

static struct klp_func kbp_functions[] = {
	{.old_name = "__napi_schedule", .new_func = kbp_napi_schedule},
	{.old_name = "__napi_schedule_irqoff", .new_func = kbp_napi_schedule_irqoff},
	{}};

static struct klp_object kbp_objects[] = {
	{
		.name = NULL, /* vmlinux */
		.funcs = kbp_functions,
		/* Instances are chosen only while every task uses the new functions. */
		.callbacks = {.post_patch = kbp_patched, .pre_unpatch = kbp_unpatching},
	},
	{}};

static struct klp_patch kbp_patch = {
	.mod = THIS_MODULE,
	.objs = kbp_objects,
};

static int __init kbp_init(void)
{
	int err;

	err = kbp_choose_init();
	if (err)
		return err;
	err = kbp_control_init();
	if (err)
		goto no_control;
	err = klp_enable_patch(&kbp_patch);
	if (err)
		goto no_patch;
	return 0;

no_patch:
	kbp_control_exit();
no_control:
	kbp_choose_exit();
	return err;
}

/* The kernel holds the module until the patch is disabled
 * (/sys/kernel/livepatch/nines_kbp/enabled) and no task is in it.
 */
static void __exit kbp_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) irq_work_sync(per_cpu_ptr(&kbp_soon, cpu));
	kbp_control_exit();
	kbp_choose_exit();
}

module_init(kbp_init);
module_exit(kbp_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION(
	"Kernel busy poll: threads that poll chosen NAPI instances in place of softirqs");
MODULE_INFO(livepatch, "Y");
