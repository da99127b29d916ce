/* Measures the cost of keeping the arrivals in memory; see bench.h. */
#include "bench/bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ROUNDS = 15 };

int bench_arrivals(int argc, char **argv, json_t **out)
{
	int cpu = argc > 0 ? atoi(argv[0]) : -1;
	uint64_t ns = (uint64_t)((argc > 1 ? atof(argv[1]) : 0.3) * 1e9);
	int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
	json_t *figures[2] = {json_array(), json_array()};
	double best[2] = {1e9, 1e9};
	uint64_t rows = 0, missed = 0;
	char file[32];
	int fd = memfd_create("arrivals", MFD_CLOEXEC), err = fd < 0 ? -errno : 0;
	snprintf(file, sizeof file, "fd:%d", fd);
	for (int i = 0; i < 2 * rounds && !err; i++) {
		struct bench_loop_options options = {
			.cpu = cpu, .duration_ns = ns, .arrivals = i % 2 ? file : NULL};
		struct trial *t;
		err = bench_loop(&options, &t);
		if (err)
			break;
		double took = bench_loop_least_ns(t);
		if (took < best[i % 2])
			best[i % 2] = took;
		json_array_append_new(figures[i % 2], json_real(took));
		rows += t->arrived.written;
		missed += t->arrived.missed;
		bench_loop_free(t);
	}
	*out = json_pack("{s:o,s:o,s:f,s:f,s:f,s:I,s:I}", "without_ns", figures[0], "with_ns",
			 figures[1], "least_without_ns", best[0], "least_with_ns", best[1],
			 "more_percent", 100 * (best[1] / best[0] - 1), "rows", (json_int_t)rows,
			 "missed", (json_int_t)missed);
	return err;
}
