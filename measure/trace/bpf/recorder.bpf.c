// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The recorder's programs: one for each tracepoint. They write records, but for the begins
 * of what has an end. A program whose tracepoint the kernel lacks is not loaded.
 */
#include "ipi.h"
#include "irq.h"
#include "net.h"
#include "sched.h"
#include "stage.h"
#include "timer.h"

/* The kernel shows its structures to programs only whose licence goes with its own. */
char _license[] SEC("license") = "Dual BSD/GPL";
