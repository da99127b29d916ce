/* Measures the cost of recording every packet; see bench.h. */
#include "bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 5 };

/* A file without a name: it disappears with the process. */
static int open_unnamed(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		fprintf(stderr, "nines-engine-bench: a file in %s: %s\n", folder, strerror(errno));
	return fd < 0 ? -errno : fd;
}

struct figures {
	json_t *without, *with;
	uint64_t written, lost;
};

static int turn(struct figures *f, int cpu, uint64_t ns, int sent, int received, bool recording)
{
	char files[2][32] = {"", ""};
	struct trial *t;
	if (recording) {
		snprintf(files[0], sizeof files[0], "fd:%d", sent);
		snprintf(files[1], sizeof files[1], "fd:%d", received);
	}
	struct bench_loop_options options = {
		.cpu = cpu, .duration_ns = ns, .sent = files[0], .received = files[1]};
	int err = bench_loop(&options, &t);
	if (err)
		return err;
	json_array_append_new(recording ? f->with : f->without, json_real(bench_loop_pps(t) / 1e6));
	f->written += t->recorded_sent.written + t->recorded_received.written;
	f->lost += t->recorded_sent.lost + t->recorded_received.lost;
	bench_loop_free(t);
	return 0;
}

int bench_recording(int argc, char **argv, json_t **out)
{
	int cpu = argc > 1 ? atoi(argv[1]) : -1;
	uint64_t ns = (uint64_t)((argc > 2 ? atof(argv[2]) : 1) * 1e9);
	int rounds = argc > 3 ? atoi(argv[3]) : ROUNDS;
	struct figures f = {json_array(), json_array(), 0, 0};
	int err = 0, sent = open_unnamed(argv[0]),
	    received = sent < 0 ? sent : open_unnamed(argv[0]);
	if (received < 0)
		return received;
	for (int i = 0; i < 2 * rounds && !err; i++)
		err = turn(&f, cpu, ns, sent, received, i % 2);
	close(sent);
	close(received);
	*out = json_pack("{s:o,s:o,s:I,s:I}", "without_mpps", f.without, "with_mpps", f.with,
			 "records", (json_int_t)f.written, "lost", (json_int_t)f.lost);
	return err;
}
