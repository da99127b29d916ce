// SPDX-License-Identifier: Apache-2.0
/*
 * nines-disturb disturbs a CPU or a process on purpose, in a known way at known times:
 * for tests of what finds the causes of slow packets, and for experiments that ask what a
 * disturbance costs. --help has its options.
 *
 * Each kind is a file: a struct kind with a function that makes one injection. Here are
 * the command line, the course of injections, and the log.
 */
#define _GNU_SOURCE
#include "disturb.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const struct kind *const kinds[] = {
	&kind_spin, &kind_fork, &kind_softirq, &kind_ipi, &kind_tlb, &kind_timers, &kind_stop, NULL,
};

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

bool stopping(void)
{
	sigset_t pending;

	if (!ended && sigpending(&pending) == 0 &&
	    (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1))
		ended = 1;
	return ended != 0;
}

int failed(const char *format, ...)
{
	int reason = errno;
	va_list arguments;

	fputs("nines-disturb: cannot ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, ": %s\n", strerror(reason));
	switch (reason) {
	case EPERM:
	case EACCES:
	case ENOSYS:
	case ENODEV:
	case EINVAL:
		return DISTURB_EXIT_HOST;
	default:
		return DISTURB_EXIT_FAILED;
	}
}

static void usage(FILE *to)
{
	fputs("usage: nines-disturb --kind KIND [--cpu N | --pid PID] [OPTION]...\n"
	      "\n"
	      "Disturbs a CPU or a process on purpose, every --period for --length, and writes a\n"
	      "line of JSON for each time to standard output:\n"
	      "  {\"kind\":\"spin\",\"cpu\":1,\"pid\":0,\"tid\":4711,\"begin_ns\":…,\"end_ns\":…,\"busy_ns\":…,\"events\":1}\n"
	      "begin_ns and end_ns are CLOCK_MONOTONIC, tid is who did it, busy_ns what it took of\n"
	      "the CPU where that is known, and events how many of what it does it did.\n"
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
	      "  --count N          ends after so many (default: none)\n"
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

/* take_option takes one option; -1 if it is as it should be. */
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

/* check tells whether the options go together; -1 if so. */
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

/* parse reads the command line; NULL with an exit code where that is all. */
static const struct kind *parse(int argc, char **argv, struct request *r, int *code)
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

static int place(const struct kind *kind, const struct request *r)
{
	int code;

	if (r->pid != 0 && r->from < 0)
		placement_avoid_process(r->pid);
	if (!kind->remote)
		code = r->cpu < 0 ? 0 : placement_pin(r->cpu);
	else if (r->from >= 0)
		code = placement_pin(r->from);
	else
		code = r->cpu < 0 || kind->needs_pid ? 0 : placement_avoid(r->cpu);
	return code != 0 ? code : placement_schedule(r->policy, r->priority);
}

/* write_log returns false when nobody reads any more. */
static bool write_log(const struct kind *kind, const struct request *r, const struct injection *i)
{
	printf("{\"kind\":\"%s\",\"cpu\":%d,\"pid\":%d,\"tid\":%d,\"begin_ns\":%llu,\"end_ns\":%llu,"
	       "\"busy_ns\":%llu,\"events\":%llu}\n",
	       kind->name, r->cpu, (int)r->pid, (int)gettid(), (unsigned long long)i->begin_ns,
	       (unsigned long long)i->end_ns, (unsigned long long)i->busy_ns,
	       (unsigned long long)i->events);
	return fflush(stdout) == 0;
}

static int disturb(const struct kind *kind, const struct request *r)
{
	uint64_t start = clock_now(), next = start;

	for (uint64_t done = 0; !stopping() && (r->count == 0 || done < r->count); done++) {
		struct injection injection = {0};
		int code;

		clock_sleep_until(next);
		injection.begin_ns = clock_now();
		if (stopping() ||
		    (r->duration_ns != 0 && injection.begin_ns - start >= r->duration_ns))
			break;
		code = kind->inject(r, &injection);
		if (code != 0)
			return code;
		if (injection.events > 0 && !write_log(kind, r, &injection))
			break;
		/* The periods stay where they are; one that was missed is left out. */
		next += r->period_ns;
		if (clock_now() > next + r->period_ns)
			next = clock_now();
	}
	return 0;
}

static int tell_ready(const struct request *r)
{
	if (r->ready < 0)
		return 0;
	if (write(r->ready, "ok\n", 3) != 3 || close(r->ready) < 0)
		return failed("tell descriptor %d that it is ready", r->ready);
	return 0;
}

int main(int argc, char **argv)
{
	struct request request = {.cpu = -1,
				  .from = -1,
				  .ready = -1,
				  .policy = "other",
				  .priority = INT_MIN,
				  .period_ns = 10 * NS_PER_MS,
				  .length_ns = 200 * NS_PER_US};
	struct sigaction action = {.sa_handler = end};
	sigset_t signals;
	int code;
	const struct kind *kind = parse(argc, argv, &request, &code);

	if (kind == NULL)
		return code;
	if (request.priority == INT_MIN)
		request.priority =
			strcmp(request.policy, "fifo") == 0 || strcmp(request.policy, "rr") == 0;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	prctl(PR_SET_TIMERSLACK, 1ul); /* or sleeps of microseconds last 50 more */
	code = place(kind, &request);
	if (code == 0 && kind->setup != NULL)
		code = kind->setup(&request);
	if (code == 0)
		code = tell_ready(&request);
	if (code == 0)
		code = disturb(kind, &request);
	if (kind->teardown != NULL)
		kind->teardown();
	return code;
}
