/*
 * nines-engine-bench: what the engine itself costs. A loop over a memory port,
 * which stamps, sends, receives, checks and records every packet on one core; and
 * each stage alone; or a packet in the switch. Prints one JSON object.
 *
 * usage: nines-engine-bench [CPU [SECONDS]]
 *        nines-engine-bench switch
 */
#include "bench/bench.h"
#include "packet/frame.h"
#include "role/thread.h"
#include "role/trial.h"

#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAGE_ROUNDS = 20000000, STAGE_BATCH = 1 << 14 };

static struct port_config loop_config(void)
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

static struct frame_template template;
static uint8_t frames[512][64];
static struct histogram histogram;
static struct seen seen;
static uint64_t sink;

static void stage_stamp(uint32_t i)
{
	(void)i;
	sink += clock_ticks_loose();
}

static void stage_build(uint32_t i)
{
	struct payload p = {.id = i, .mark = PAYLOAD_MARK, .stream = 1, .tx_ticks = sink};
	frame_write(&template, frames[i % 512], 0, &p);
}

static void stage_check(uint32_t i)
{
	struct payload p;
	sink += frame_check(frames[i % 512], 60, 7999, false) == FRAME_GOOD &&
		payload_read(frames[i % 512] + FRAME_PAYLOAD_AT, PAYLOAD_BYTES, &p);
}

static void stage_record(uint32_t i)
{
	histogram_record(&histogram, 1000 + (i * 2654435761u >> 20));
}

static void stage_seen(uint32_t i)
{
	seen_record(&seen, i);
}

static const struct {
	const char *name;
	void (*run)(uint32_t i);
} stages[] = {
	{"stamp", stage_stamp},	  {"build_frame", stage_build}, {"check_frame", stage_check},
	{"record", stage_record}, {"seen", stage_seen},
};

/* The best of many short batches: what it costs when nobody takes the core. */
static double stage_ns(void (*run)(uint32_t))
{
	uint64_t best = UINT64_MAX;
	for (uint32_t at = 0; at < STAGE_ROUNDS; at += STAGE_BATCH) {
		uint64_t from = clock_ticks();
		for (uint32_t i = 0; i < STAGE_BATCH; i++)
			run(at + i);
		uint64_t took = clock_ticks() - from;
		if (took < best)
			best = took;
	}
	return (double)best * 1e9 / clock_global.scale.hz / STAGE_BATCH;
}

static int run_loop(int cpu, uint64_t duration_ns, struct trial **out)
{
	char error[256] = "";
	struct port_config port_config = loop_config();
	struct port *port;
	int err = port_memory.open(&port_config, &port, error, sizeof error);
	if (err)
		goto fail;
	struct trial_config config = {
		.role = "loop",
		.tx = port,
		.rx = port,
		.cpu = cpu,
		.schedule = {.burst = 1, .seed = 1},
		.warmup_ns = 100000000,
		.duration_ns = duration_ns,
		.drain_ns = 100000000,
		.outliers = 1000,
	};
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
	fprintf(stderr, "nines-engine-bench: %s\n", error);
	return err;
}

static int print(json_t *o)
{
	json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(4));
	putchar('\n');
	json_decref(o);
	return 0;
}

int main(int argc, char **argv)
{
	json_t *of_switch;
	if (argc > 1 && strcmp(argv[1], "switch") == 0) {
		clock_init();
		return bench_switch(&of_switch) ? 1 : print(of_switch);
	}
	int cpu = argc > 1 ? atoi(argv[1]) : -1;
	double seconds = argc > 2 ? atof(argv[2]) : 2;
	struct port_config config = loop_config();
	struct trial *t;
	clock_init();
	frame_template_init(&template, &config);
	histogram_clear(&histogram);
	if (seen_init(&seen, 0) || run_loop(cpu, (uint64_t)(seconds * 1e9), &t))
		return 1;
	json_t *ns = json_object();
	for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
		json_object_set_new(ns, stages[i].name, json_real(stage_ns(stages[i].run)));
	/* What others on the machine took of the core is not the engine's cost. */
	double had = seconds - (double)t->run_delay_ns / 1e9;
	double pps = (double)t->receiver.seen.unique / had;
	json_t *o = json_pack(
		"{s:f,s:f,s:f,s:I,s:I,s:I,s:f,s:f,s:o}", "mpps", pps / 1e6, "mpps_wall",
		(double)t->receiver.seen.unique / seconds / 1e6, "ns_per_packet", 1e9 / pps,
		"packets", (json_int_t)t->receiver.seen.unique, "recorded",
		(json_int_t)t->receiver.latency.count, "lost",
		(json_int_t)(t->sender.send_lag.count - t->receiver.seen.unique), "gaps_ms",
		(double)clock_ticks_to_ns(&t->scale, t->gaps.total_ticks) / 1e6, "run_delay_ms",
		(double)t->run_delay_ns / 1e6, "stage_ns", ns);
	print(o);
	trial_free(t);
	seen_free(&seen);
	return 0;
}
