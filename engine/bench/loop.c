/* The loop in memory; see bench.h. */
#include "bench/bench.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

struct port_config bench_loop_config(void)
{
	struct port_config c = {
		.name = "bench",
		.interface = "loop",
		.io = PORT_BATCH,
		.wait = PORT_SPIN,
		.udp_port = 7999,
		.frame_bytes = FRAME_MIN_BYTES,
		.flows = 1,
	};
	return c;
}

int bench_loop(const struct bench_loop_options *options, struct trial **out)
{
	char error[256] = "";
	struct port_config port_config = bench_loop_config();
	struct port *port;
	int err = port_memory.open(&port_config, &port, error, sizeof error);
	if (err)
		goto fail;
	struct stream_config stream = {.tx = port, .rx = port, .schedule = {.burst = 1, .seed = 1}};
	struct trial_config config = {
		.role = "loop",
		.streams = &stream,
		.stream_count = 1,
		.cpu = options->cpu,
		.warmup_ns = 100000000,
		.duration_ns = options->duration_ns,
		.drain_ns = 100000000,
		.outliers = 1000,
		.ordinary = options->ordinary,
		.notices = options->notices,
	};
	if (options->sent)
		snprintf(config.record_sent, sizeof config.record_sent, "%s", options->sent);
	if (options->received)
		snprintf(config.record_received, sizeof config.record_received, "%s",
			 options->received);
	if (options->arrivals)
		snprintf(config.arrivals, sizeof config.arrivals, "%s", options->arrivals);
	err = trial_new(&config, out, error, sizeof error);
	if (!err)
		err = trial_start(*out, error, sizeof error);
	if (err)
		goto fail;
	while (!atomic_load(&(*out)->ended)) {
		struct pollfd fd = {.fd = (*out)->done_fd, .events = POLLIN};
		poll(&fd, 1, 1000);
		poll(NULL, 0, 20);
	}
	trial_join(*out);
	return 0;
fail:
	fprintf(stderr, "nines-engine-bench: %s: %s\n", error, strerror(-err));
	return err;
}

void bench_loop_free(struct trial *t)
{
	struct port *port = t->ports[0].port;
	trial_free(t);
	port->ops->close(port);
}

double bench_loop_pps(const struct trial *t)
{
	/* Leaves out the time that others on the machine took from the core. */
	double had = (double)t->config.duration_ns - (double)t->runs.delay_ns;
	return (double)t->receiver.unique * 1e9 / had;
}

double bench_loop_least_ns(const struct trial *t)
{
	const struct blocks *b = &t->receiver.blocks;
	uint64_t most = 1;
	/* The last one has the drain, too. */
	for (uint32_t i = 0; i + 1 < b->count; i++)
		if (b->list[i].count > most)
			most = b->list[i].count;
	return (double)clock_ticks_to_ns(&t->scale, b->length_ticks) / (double)most;
}
