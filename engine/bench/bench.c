/*
 * nines-engine-bench: measures the engine's own costs. A loop over a memory port, which stamps,
 * sends, receives, checks and records every packet on one core, and each stage alone; or a packet
 * in the switch. Prints one JSON object.
 *
 * usage: nines-engine-bench [CPU [SECONDS]]
 *        nines-engine-bench switch
 *        nines-engine-bench recording FOLDER [CPU [SECONDS [ROUNDS]]]
 *        nines-engine-bench notices [CPU [SECONDS [ROUNDS]]]
 *        nines-engine-bench arrivals [CPU [SECONDS [ROUNDS]]]
 */
#include "bench/bench.h"
#include "packet/frame.h"
#include "role/trial.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAGE_ROUNDS = 20000000, STAGE_BATCH = 1 << 14 };

static struct frame_template template;
static uint8_t frames[512][64];
static struct histogram histogram;
static struct seen seen;
static struct gaps gaps;
static uint64_t sink;

static void stage_stamp(uint32_t i)
{
	(void)i;
	sink += clock_ticks_loose();
}

static void stage_build(uint32_t i)
{
	struct payload p = {.id = i, .flags = PAYLOAD_MEASURED, .tx_ticks = sink};
	frame_write(&template, frames[i % 512], 0, &p);
}

static void stage_check(uint32_t i)
{
	struct payload p;
	sink += frame_check(frames[i % 512], 60, 7999, false) == FRAME_GOOD &&
		payload_read(frames[i % 512] + FRAME_HEADERS, PAYLOAD_BYTES, &p);
}

static void stage_record(uint32_t i)
{
	histogram_record(&histogram, 1000 + (i * 2654435761u >> 20));
}

static void stage_seen(uint32_t i)
{
	seen_record(&seen, i);
}

/* A turn of the loop, as its gap meter sees it: 1 in 16 is long, 1 in 4,096 is listed as interrupted. */
static void stage_turn(uint32_t i)
{
	uint64_t ticks = i % 4096 == 0 ? 30000 : i % 16 == 0 ? 900 : 300;
	gaps_turn(&gaps, gaps.last_ticks + ticks, 1, 0);
}

static const struct {
	const char *name;
	void (*run)(uint32_t i);
} stages[] = {
	{"stamp", stage_stamp},	  {"build_frame", stage_build}, {"check_frame", stage_check},
	{"record", stage_record}, {"seen", stage_seen},		{"turn", stage_turn},
};

/* The best of many short batches: the cost when nothing else takes the core. */
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

static int print(json_t *o)
{
	json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(4));
	putchar('\n');
	json_decref(o);
	return 0;
}

int main(int argc, char **argv)
{
	json_t *figures;
	if (argc > 1 && strcmp(argv[1], "switch") == 0) {
		clock_init();
		return bench_switch(&figures) ? 1 : print(figures);
	}
	if (argc > 2 && strcmp(argv[1], "recording") == 0) {
		clock_init();
		return bench_recording(argc - 2, argv + 2, &figures) ? 1 : print(figures);
	}
	if (argc > 1 && strcmp(argv[1], "notices") == 0) {
		clock_init();
		return bench_notices(argc - 2, argv + 2, &figures) ? 1 : print(figures);
	}
	if (argc > 1 && strcmp(argv[1], "arrivals") == 0) {
		clock_init();
		return bench_arrivals(argc - 2, argv + 2, &figures) ? 1 : print(figures);
	}
	int cpu = argc > 1 ? atoi(argv[1]) : -1;
	double seconds = argc > 2 ? atof(argv[2]) : 2;
	struct port_config config = bench_loop_config();
	struct bench_loop_options options = {.cpu = cpu, .duration_ns = (uint64_t)(seconds * 1e9)};
	struct interruptions *list;
	struct trial *t;
	clock_init();
	frame_template_init(&template, &config);
	histogram_clear(&histogram);
	gaps_init(&gaps, 1000);
	if (seen_init(&seen, 0, 1) || interruptions_new(&list, INTERRUPTIONS_MIN) ||
	    bench_loop(&options, &t))
		return 1;
	interruptions_begin(list, &gaps);
	json_t *ns = json_object();
	for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
		json_object_set_new(ns, stages[i].name, json_real(stage_ns(stages[i].run)));
	double pps = bench_loop_pps(t);
	json_t *o = json_pack(
		"{s:f,s:f,s:f,s:f,s:I,s:I,s:I,s:f,s:f,s:o}", "mpps", pps / 1e6, "mpps_wall",
		(double)t->receiver.unique / seconds / 1e6, "ns_per_packet", 1e9 / pps,
		"least_ns_per_packet", bench_loop_least_ns(t), "packets",
		(json_int_t)t->receiver.unique, "recorded", (json_int_t)t->receiver.latency.count,
		"lost", (json_int_t)(t->sender.send_lag.count - t->receiver.unique), "gaps_ms",
		(double)clock_ticks_to_ns(&t->scale, t->gaps.total_ticks) / 1e6, "run_delay_ms",
		(double)t->runs.delay_ns / 1e6, "stage_ns", ns);
	print(o);
	bench_loop_free(t);
	seen_free(&seen);
	interruptions_free(list);
	return 0;
}
