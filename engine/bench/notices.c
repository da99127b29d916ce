/* Measures the cost of announcing packets; see bench.h. */
#include "bench/bench.h"

#include <stdlib.h>

enum { ROUNDS = 5, ORDINARY = 200, NOTICES = 16384 };

int bench_notices(int argc, char **argv, json_t **out)
{
	int cpu = argc > 0 ? atoi(argv[0]) : -1;
	uint64_t ns = (uint64_t)((argc > 1 ? atof(argv[1]) : 1) * 1e9);
	int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
	json_t *figures[2] = {json_array(), json_array()};
	uint64_t announced = 0;
	int err = 0;
	for (int i = 0; i < 2 * rounds && !err; i++) {
		struct bench_loop_options options = {.cpu = cpu, .duration_ns = ns};
		struct trial *t;
		if (i % 2) {
			options.ordinary = ORDINARY;
			options.notices = NOTICES;
		}
		err = bench_loop(&options, &t);
		if (err)
			break;
		json_array_append_new(figures[i % 2], json_real(bench_loop_pps(t) / 1e6));
		if (i % 2)
			announced += t->receiver.notices->head;
		bench_loop_free(t);
	}
	*out = json_pack("{s:o,s:o,s:I}", "without_mpps", figures[0], "with_mpps", figures[1],
			 "announced", (json_int_t)announced);
	return err;
}
