// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The recorder's programs, one per tracepoint. Each event is one record, except that a span is
 * written only at its end. A program whose tracepoint the kernel lacks is not loaded.
 */
#include "ipi.h"
#include "irq.h"
#include "net.h"
#include "sched.h"
#include "stage.h"
#include "timer.h"

/* The kernel lets only programs with a compatible licence read its structures. */
char _license[] SEC("license") = "Dual BSD/GPL";
