/* Measures the cost of a packet in the switch; see bench.h. */
#include "bench/bench.h"
#include "clock/clock.h"
#include "switch/switch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Ports that cost almost nothing, and the same in any number: all lend from one pool of frames and
 * copy into another, so that the caches hold the same amount in every case. The frames are written
 * between the rounds; only switching is timed.
 */
enum { POOL = 1024, FRAME_BYTES = 64, LENGTH = 60, PORTS_MAX = SWITCH_PORTS_MAX };

struct bench_port {
	struct port port;
	unsigned first, left; /* the pool's frames that the port has yet to lend */
};

static _Alignas(64) uint8_t received[POOL][FRAME_BYTES], sent[POOL][FRAME_BYTES];
static unsigned sent_at;

static unsigned bench_rx_burst(struct port *port, struct packet *burst, unsigned max)
{
	struct bench_port *b = (struct bench_port *)port;
	unsigned n = b->left < max ? b->left : max;
	for (unsigned i = 0; i < n; i++)
		burst[i] = (struct packet){.data = received[b->first + i], .length = LENGTH};
	b->first += n;
	b->left -= n;
	return n;
}

static void bench_rx_release(struct port *port, struct packet *burst, unsigned count)
{
	(void)port, (void)burst, (void)count;
}

static int bench_tx_forward(struct port *port, struct packet *burst, unsigned count)
{
	(void)port;
	for (unsigned i = 0; i < count; i++)
		memcpy(sent[sent_at++ % POOL], burst[i].data, LENGTH);
	return (int)count;
}

static int bench_start(struct port *port, unsigned directions)
{
	(void)port, (void)directions;
	return 0;
}

static const struct port_ops bench_ops = {
	.name = "bench",
	.layer = PORT_FRAME,
	.start = bench_start,
	.rx_burst = bench_rx_burst,
	.rx_release = bench_rx_release,
	.tx_forward = bench_tx_forward,
};

/* One switch with its traffic: every packet comes from the next address of its port, and goes to
 * the next address of another port. */
struct bench_case {
	const char *name;
	unsigned ports, talking, macs; /* macs: addresses of all talking ports together */
	struct switch_ *s;
	struct switch_turn *turn;
	struct bench_port at[PORTS_MAX];
	unsigned next_to[PORTS_MAX], next_from[PORTS_MAX];
	uint64_t flooded[PORTS_MAX]; /* while addresses were learned */
	double rounds_ns[SWITCH_BENCH_ROUNDS];
};

/* The ports get the addresses in turns, so that address i is at port i % talking. */
static void write_mac(uint8_t *at, unsigned i)
{
	const uint8_t mac[6] = {2, 0, 0, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};
	memcpy(at, mac, sizeof mac);
}

static void write_frames(struct bench_case *c)
{
	unsigned each = POOL / c->talking;
	for (unsigned p = 0; p < c->talking; p++) {
		c->at[p].first = p * each;
		c->at[p].left = each;
		for (unsigned i = 0; i < each; i++) {
			unsigned to = c->next_to[p]++ % c->macs;
			if (to % c->talking == p)
				to = c->next_to[p]++ % c->macs;
			unsigned from = c->next_from[p]++ % (c->macs / c->talking) * c->talking + p;
			write_mac(received[p * each + i], to);
			write_mac(received[p * each + i] + 6, from);
		}
	}
}

static void run_round(struct bench_case *c, double *ns)
{
	unsigned packets = 0, had;
	write_frames(c);
	uint64_t from = clock_ticks();
	do {
		had = switch_turn_run(c->turn);
		packets += had;
	} while (packets < POOL / c->talking * c->talking && had > 0);
	uint64_t took = clock_ticks() - from;
	*ns = (double)took * 1e9 / clock_global.scale.hz / packets;
}

static int open_case(struct bench_case *c, char *error, size_t size)
{
	struct switch_config config = {.macs = SWITCH_MACS};
	struct switch_port_config plain = {0};
	int err = switch_start(&c->s, &config, error, size);
	if (err)
		return err;
	/* Stops the switch's thread: this thread runs and times the turns. */
	switch_stop(c->s);
	for (unsigned p = 0; p < c->ports && !err; p++) {
		struct port_config port = {.frame_bytes = FRAME_BYTES, .io = PORT_BATCH};
		snprintf(port.name, sizeof port.name, "%u", p);
		port_init(&c->at[p].port, &bench_ops, &port);
		err = switch_attach(c->s, &c->at[p].port, &plain, error, size);
	}
	c->turn = err ? NULL : switch_turn_new(&c->s->threads[0]);
	if (!c->turn)
		return err ? err : -ENOMEM;
	/* Learns all addresses before the first round that counts. */
	for (unsigned i = 0; i < 4 * c->macs / POOL + 4; i++)
		run_round(c, &c->rounds_ns[0]);
	for (unsigned p = 0; p < c->ports; p++)
		c->flooded[p] = switch_find(c->s, &c->at[p].port)->rx.flooded;
	return 0;
}

/* Whether nothing was dropped, and nothing flooded once the addresses were known. */
static bool all_passed(const struct bench_case *c)
{
	for (unsigned i = 0; i < c->talking; i++) {
		const struct switch_port *p = switch_find(c->s, &c->at[i].port);
		if (p->rx.forwarded + p->rx.flooded != p->rx.packets ||
		    p->rx.flooded != c->flooded[i])
			return false;
	}
	return true;
}

static void close_case(struct bench_case *c)
{
	free(c->turn);
	switch_free(c->s);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int bench_switch(json_t **out)
{
	static struct bench_case cases[] = {
		{.name = "2_ports", .ports = 2, .talking = 2, .macs = 2},
		{.name = "16_ports", .ports = 16, .talking = 16, .macs = 16},
		{.name = "2_of_16_ports", .ports = 16, .talking = 2, .macs = 2},
		{.name = "10000_macs", .ports = 2, .talking = 2, .macs = 10000},
		{.name = "16_ports_10000_macs", .ports = 16, .talking = 16, .macs = 10000},
	};
	enum { CASES = sizeof cases / sizeof cases[0], BLOCK = 200 };
	char error[256] = "out of memory";
	for (unsigned i = 0; i < CASES; i++)
		if (open_case(&cases[i], error, sizeof error)) {
			fprintf(stderr, "nines-engine-bench: %s\n", error);
			return -1;
		}
	/* Alternates, so that other load on the machine affects all cases alike; but in blocks,
	 * because changing every round would empty caches that a switch with its own CPU keeps. */
	for (unsigned block = 0; block < SWITCH_BENCH_ROUNDS; block += BLOCK)
		for (unsigned i = 0; i < CASES; i++)
			for (unsigned round = 0; round < BLOCK; round++)
				run_round(&cases[i], &cases[i].rounds_ns[block + round]);
	*out = json_object();
	for (unsigned i = 0; i < CASES; i++) {
		double *ns = cases[i].rounds_ns;
		if (!all_passed(&cases[i])) {
			fprintf(stderr, "nines-engine-bench: %s: the switch dropped packets\n",
				cases[i].name);
			return -1;
		}
		qsort(ns, SWITCH_BENCH_ROUNDS, sizeof *ns, by_value);
		json_object_set_new(*out, cases[i].name,
				    json_pack("{s:f,s:f}", "min_ns", ns[0], "median_ns",
					      ns[SWITCH_BENCH_ROUNDS / 2]));
		close_case(&cases[i]);
	}
	return 0;
}
