// SPDX-License-Identifier: Apache-2.0
/* The command line: options with one value each, in any order. */
#define _GNU_SOURCE
#include "poller.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int options__wrong(const char *key, const char *value, const char *want)
{
	fprintf(stderr, "nines-poller: %s %s: want %s\n", key, value, want);
	return -1;
}

/* Parses an integer of at least smallest; -1 if it is none. */
static long options__number(const char *text, long smallest, long largest)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end != '\0' || value < smallest || value > largest)
		return -1;
	return value;
}

/* Parses the kernel's list format, "0-3,8". */
static int options__cpus(struct options *options, const char *list)
{
	for (const char *at = list; *at != '\0';) {
		char *end;
		long first = strtol(at, &end, 10);
		long last = first;

		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		if (end == at || first < 0 || last < first || last >= CPU_SETSIZE ||
		    (*end != ',' && *end != '\0'))
			return options__wrong("--cpus", list, "a list as 2 or 0-3,8");
		for (long cpu = first; cpu <= last; cpu++) {
			if (options->cpus == STATISTICS_THREADS)
				return options__wrong("--cpus", list, "at most 64");
			options->cpu[options->cpus++] = (int)cpu;
		}
		at = *end == ',' ? end + 1 : end;
	}
	return 0;
}

/* Parses "TID@CPU". */
static int options__thread(struct options *options, const char *text)
{
	char *at;
	long tid = strtol(text, &at, 10);
	long cpu = *at == '@' ? options__number(at + 1, 0, CPU_SETSIZE - 1) : -1;

	if (at == text || tid < 1 || tid > INT32_MAX || cpu < 0 ||
	    options->threads == STATISTICS_THREADS)
		return options__wrong("--thread", text,
				      "a thread and its CPU, as 1234@2, at most 64 times");
	options->thread[options->threads].tid = (pid_t)tid;
	options->thread[options->threads++].cpu = (int)cpu;
	return 0;
}

static int options__set(struct options *options, const char *key, const char *value)
{
	long number;

	if (strcmp(key, "--mechanism") == 0) {
		if (strcmp(value, "io_uring") != 0 && strcmp(value, "epoll") != 0)
			return options__wrong(key, value, "io_uring or epoll");
		options->mechanism = value;
	} else if (strcmp(key, "--netns") == 0) {
		options->netns = value;
	} else if (strcmp(key, "--scheduling") == 0) {
		options->scheduling = value;
	} else if (strcmp(key, "--statistics") == 0) {
		options->statistics = value;
	} else if (strcmp(key, "--token") == 0) {
		options->token = value;
	} else if (strcmp(key, "--cgroup") == 0) {
		if (options->cgroups == POLLER_MAX_CGROUPS)
			return options__wrong(key, value, "at most 16");
		options->cgroup[options->cgroups++] = value;
	} else if (strcmp(key, "--feed") == 0) {
		if (options->feeds == POLLER_MAX_DEVICES)
			return options__wrong(key, value, "at most 64");
		options->feed[options->feeds++] = value;
	} else if (strcmp(key, "--device") == 0) {
		if (options->devices == POLLER_MAX_DEVICES)
			return options__wrong(key, value, "at most 64");
		options->device[options->devices++] = value;
	} else if (strcmp(key, "--cpus") == 0) {
		return options__cpus(options, value);
	} else if (strcmp(key, "--napi") == 0) {
		number = options__number(value, 1, INT32_MAX);
		if (number < 0 || options->napis == POLLER_MAX_NAPIS)
			return options__wrong(key, value, "an id from napi-get, at most 256 times");
		options->napi[options->napis++] = (unsigned)number;
	} else if (strcmp(key, "--thread") == 0) {
		return options__thread(options, value);
	} else if (strcmp(key, "--longest") == 0) {
		number = options__number(value, 1, 1000000);
		if (number < 0)
			return options__wrong(key, value, "1 to 1000000 microseconds");
		options->longest_us = (int)number;
	} else {
		fprintf(stderr, "nines-poller: there is no option %s\n", key);
		return -1;
	}
	return 0;
}

int options__parse(struct options *options, int argc, char **argv)
{
	*options = (struct options){.mechanism = "io_uring", .scheduling = "idle:0"};
	for (int i = 0; i < argc; i += 2) {
		if (i + 1 == argc) {
			fprintf(stderr, "nines-poller: %s needs a value\n", argv[i]);
			return -1;
		}
		if (options__set(options, argv[i], argv[i + 1]) < 0)
			return -1;
	}
	if (options->cpus == 0) {
		fputs("nines-poller: --cpus is missing: the CPU that each thread polls on\n",
		      stderr);
		return -1;
	}
	return 0;
}
