// SPDX-License-Identifier: Apache-2.0
/* The command line. */
#define _GNU_SOURCE
#include "disturb.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct kind *const kinds[] = {
	&kind_spin, &kind_fork, &kind_softirq, &kind_ipi, &kind_tlb, &kind_timers, &kind_stop, NULL,
};

static void usage(FILE *to)
{
	fputs("usage: nines-disturb --kind KIND [--cpu N | --pid PID] [OPTION]...\n"
	      "\n"
	      "Disturbs a CPU or a process deliberately, every --period for --length, and writes a\n"
	      "line of JSON for each time to standard output:\n"
	      "  {\"kind\":\"spin\",\"cpu\":1,\"pid\":0,\"tid\":4711,\"begin_ns\":…,\"end_ns\":…,\"busy_ns\":…,\"events\":1}\n"
	      "begin_ns and end_ns are CLOCK_MONOTONIC, tid is who did it, busy_ns what it took of\n"
	      "the CPU where that is known, and events how often it did what it does.\n"
	      "\n"
	      "kinds:\n",
	      to);
	for (const struct kind *const *k = kinds; *k != NULL; k++)
		fprintf(to, "  %-8s %s\n", (*k)->name, (*k)->summary);
	fputs("\n"
	      "options:\n"
	      "  --cpu N            the CPU to disturb (default: where the kernel puts it; ipi and tlb\n"
	      "                     need one)\n"
	      "  --pid PID          the process to disturb: stop, and tlb if wanted\n"
	      "  --from N           where softirq, ipi, tlb and stop are done from (default: any other)\n"
	      "  --policy POLICY    other, batch, idle, fifo or rr, of the thread that disturbs\n"
	      "                     (default other)\n"
	      "  --priority N       1 to 99 for fifo and rr, else a niceness (default 1 or 0)\n"
	      "  --period TIME      from one begin to the next (default 10ms)\n"
	      "  --length TIME      how long each is (default 200us); equal to the period: all the time\n"
	      "  --pattern PATTERN  how begins are spaced: constant, poisson (exponentially), or bursts\n"
	      "                     (about five, a length apart, then none for long); the period is\n"
	      "                     their average (default constant)\n"
	      "  --count N          ends after N times (default: no limit)\n"
	      "  --duration TIME    ends after that (default: on SIGTERM, or when nobody reads)\n"
	      "  --ready-fd FD      writes a line to this descriptor and closes it, before the first\n"
	      "\n"
	      "examples:\n"
	      "  nines-disturb --kind softirq --cpu 1 --period 5ms --length 300us --duration 10s\n"
	      "  nines-disturb --kind spin --cpu 1 --policy fifo --priority 50 --count 20\n"
	      "  nines-disturb --kind stop --pid 4711 --period 1s --length 20ms\n",
	      to);
}

__attribute__((format(printf, 1, 2))) static int misused(const char *format, ...)
{
	va_list arguments;

	fputs("nines-disturb: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputs("; see nines-disturb --help\n", stderr);
	return DISTURB_EXIT_USAGE;
}

static bool parse_number(const char *text, long least, long most, long *number)
{
	char *rest;

	errno = 0;
	*number = strtol(text, &rest, 10);
	return errno == 0 && rest != text && *rest == '\0' && *number >= least && *number <= most;
}

enum option_key {
	KIND = 1,
	CPU,
	PID,
	FROM,
	POLICY,
	PRIORITY,
	PERIOD,
	LENGTH,
	PATTERN,
	COUNT,
	DURATION,
	READY,
	HELP
};

static const struct option options[] = {
	{"kind", required_argument, NULL, KIND},
	{"cpu", required_argument, NULL, CPU},
	{"pid", required_argument, NULL, PID},
	{"from", required_argument, NULL, FROM},
	{"policy", required_argument, NULL, POLICY},
	{"priority", required_argument, NULL, PRIORITY},
	{"period", required_argument, NULL, PERIOD},
	{"length", required_argument, NULL, LENGTH},
	{"pattern", required_argument, NULL, PATTERN},
	{"count", required_argument, NULL, COUNT},
	{"duration", required_argument, NULL, DURATION},
	{"ready-fd", required_argument, NULL, READY},
	{"help", no_argument, NULL, HELP},
	{0},
};

static const struct kind *find_kind(const char *name)
{
	for (const struct kind *const *k = kinds; *k != NULL; k++)
		if (strcmp((*k)->name, name) == 0)
			return *k;
	return NULL;
}

/* take_option takes one option; -1 if it is valid. */
static int take_option(int key, const char *name, struct request *r, const struct kind **kind)
{
	long number = 0;
	bool good = true;

	switch (key) {
	case KIND:
		*kind = find_kind(optarg);
		if (*kind == NULL)
			return misused("there is no kind \"%s\"", optarg);
		break;
	case CPU:
		good = parse_number(optarg, 0, 4095, &number);
		r->cpu = (int)number;
		break;
	case FROM:
		good = parse_number(optarg, 0, 4095, &number);
		r->from = (int)number;
		break;
	case PID:
		good = parse_number(optarg, 1, INT_MAX, &number);
		r->pid = (pid_t)number;
		break;
	case POLICY:
		r->policy = optarg;
		break;
	case PRIORITY:
		good = parse_number(optarg, -20, 99, &number);
		r->priority = (int)number;
		break;
	case PERIOD:
		good = clock_parse(optarg, &r->period_ns) && r->period_ns > 0;
		break;
	case LENGTH:
		good = clock_parse(optarg, &r->length_ns) && r->length_ns > 0;
		break;
	case PATTERN:
		good = schedule_parse(optarg, &r->pattern);
		break;
	case COUNT:
		good = parse_number(optarg, 1, LONG_MAX, &number);
		r->count = (uint64_t)number;
		break;
	case DURATION:
		good = clock_parse(optarg, &r->duration_ns) && r->duration_ns > 0;
		break;
	case READY:
		good = parse_number(optarg, 3, 1023, &number);
		r->ready = (int)number;
		break;
	case HELP:
		usage(stdout);
		return 0;
	default:
		return misused("what it is called with is wrong");
	}
	return good ? -1 : misused("--%s cannot be \"%s\"", name, optarg);
}

/* check checks the combination of options; -1 if it is valid. */
static int check(const struct kind *kind, const struct request *r)
{
	if (kind->needs_pid && r->pid == 0)
		return misused("%s needs --pid", kind->name);
	if (!kind->takes_pid && r->pid != 0)
		return misused("%s takes no --pid", kind->name);
	if (kind->needs_cpu && r->pid == 0 && r->cpu < 0)
		return misused("%s needs --cpu%s", kind->name, kind->takes_pid ? " or --pid" : "");
	if (!kind->remote && r->from >= 0)
		return misused("%s is done on the CPU itself, and takes no --from", kind->name);
	if (kind->remote && r->from >= 0 && r->from == r->cpu)
		return misused("--from and --cpu are the same");
	if (r->length_ns > r->period_ns)
		return misused("--length is longer than --period");
	return -1;
}

const struct kind *options_parse(int argc, char **argv, struct request *r, int *code)
{
	const struct kind *kind = NULL;
	int index = 0;
	int key;

	*code = -1;
	while (*code < 0 && (key = getopt_long(argc, argv, "", options, &index)) != -1)
		*code = take_option(key, options[index].name, r, &kind);
	if (*code < 0 && optind < argc)
		*code = misused("\"%s\" is not an option", argv[optind]);
	if (*code < 0 && kind == NULL)
		*code = misused("--kind is missing");
	if (*code < 0 && kind != NULL)
		*code = check(kind, r);
	return *code < 0 ? kind : NULL;
}
