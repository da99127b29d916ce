/*
 * Tests the switch between ports in memory:
 *
 *   test -- end[0] ==memory== port[0] --+
 *   test -- end[1] ==memory== port[1] --+-- switch
 *   test -- end[2] ==memory== port[2] --+
 */
#include "switch/switch.h"

#include "clock/clock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { ENDS = 3 };

struct bench {
	struct switch_ *s;
	struct port *ends[ENDS], *ports[ENDS];
};

static struct port *open_memory(const char *name, const char *pair)
{
	struct port_config c = {.io = PORT_BATCH, .wait = PORT_SPIN, .frame_bytes = 1518};
	struct port *port = NULL;
	char error[200];
	snprintf(c.name, sizeof c.name, "%s", name);
	snprintf(c.interface, sizeof c.interface, "%s", pair);
	if (port_memory.open(&c, &port, error, sizeof error))
		fail_msg("%s", error);
	return port;
}

static void attach(struct bench *b, int i, const struct switch_port_config *config)
{
	const struct switch_port_config plain = {0};
	char error[200] = "";
	if (switch_attach(b->s, b->ports[i], config ? config : &plain, error, sizeof error))
		fail_msg("%s", error);
}

static void begin(struct bench *b, unsigned threads)
{
	struct switch_config config = {.macs = 64, .ageing_ns = 0, .cpu_count = 0};
	char error[200] = "";
	/* All on one CPU: the test only needs several threads. */
	for (unsigned i = 0; threads > 1 && i < threads; i++)
		config.cpus[config.cpu_count++] = 0;
	if (switch_start(&b->s, &config, error, sizeof error))
		fail_msg("%s", error);
	for (int i = 0; i < ENDS; i++) {
		char pair[16], name[16];
		snprintf(pair, sizeof pair, "pair%d", i);
		snprintf(name, sizeof name, "p%d", i);
		b->ends[i] = open_memory("end", pair);
		b->ports[i] = open_memory(name, pair);
	}
}

static void end(struct bench *b)
{
	switch_stop(b->s);
	switch_free(b->s);
	for (int i = 0; i < ENDS; i++) {
		port_memory.close(b->ports[i]);
		port_memory.close(b->ends[i]);
	}
}

struct frame {
	uint8_t bytes[64];
	uint32_t length;
};

static struct frame frame_between(uint8_t to, uint8_t from)
{
	struct frame f = {.bytes = {2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 0x88, 0xb5},
			  .length = 60};
	return f;
}

static struct frame tagged(struct frame f, uint16_t vlan)
{
	memmove(f.bytes + 16, f.bytes + 12, 44);
	f.bytes[12] = 0x81;
	f.bytes[13] = 0;
	f.bytes[14] = (uint8_t)(vlan >> 8);
	f.bytes[15] = (uint8_t)vlan;
	f.length = 64;
	return f;
}

static void send_frame(struct bench *b, int i, struct frame f)
{
	struct packet p;
	assert_int_equal(port_memory.tx_acquire(b->ends[i], &p, 1), 1);
	memcpy(p.data, f.bytes, f.length);
	p.length = f.length;
	assert_int_equal(port_memory.tx_commit(b->ends[i], &p, 1), 1);
}

/* Waits for a frame, for at most some seconds. */
static struct frame receive(struct bench *b, int i)
{
	struct frame f = {0};
	struct packet p;
	for (int turn = 0; turn < 5000; turn++) {
		if (port_memory.rx_burst(b->ends[i], &p, 1) == 1) {
			assert_in_range(p.length, 1, sizeof f.bytes);
			memcpy(f.bytes, p.data, p.length);
			f.length = p.length;
			port_memory.rx_release(b->ends[i], &p, 1);
			return f;
		}
		usleep(1000);
	}
	fail_msg("nothing came to end %d", i);
	return f;
}

static void expect(struct bench *b, int i, struct frame want)
{
	struct frame got = receive(b, i);
	assert_int_equal(got.length, want.length);
	assert_memory_equal(got.bytes, want.bytes, want.length);
}

static bool is_quiet(struct bench *b, int i)
{
	struct packet p;
	return port_memory.rx_burst(b->ends[i], &p, 1) == 0;
}

static uint64_t drops_of(const struct switch_port *p)
{
	uint64_t sum = 0;
	for (int i = 0; i < SWITCH_DROPS; i++)
		sum += __atomic_load_n(&p->rx.drops[i], __ATOMIC_RELAXED);
	return sum;
}

/* Checks that every received packet has one fate. Waits for packets still on their way. */
static void expect_sums(struct bench *b, int i, uint64_t received)
{
	struct switch_port *p = switch_find(b->s, b->ports[i]);
	for (int turn = 0; turn < 5000; turn++) {
		if (__atomic_load_n(&p->rx.packets, __ATOMIC_RELAXED) == received &&
		    p->rx.forwarded + p->rx.flooded + drops_of(p) == received)
			return;
		usleep(1000);
	}
	fail_msg("port %d: received %lu, forwarded %lu, flooded %lu, dropped %lu", i, p->rx.packets,
		 p->rx.forwarded, p->rx.flooded, drops_of(p));
}

static void expect_drop(struct bench *b, int i, enum switch_drop why, uint64_t count)
{
	const struct switch_port *p = switch_find(b->s, b->ports[i]);
	for (int turn = 0; turn < 5000; turn++) {
		if (__atomic_load_n(&p->rx.drops[why], __ATOMIC_RELAXED) == count)
			return;
		usleep(1000);
	}
	fail_msg("port %d: %s is %lu, not %lu", i, switch_drop_names[why], p->rx.drops[why], count);
}

static void learns(unsigned threads)
{
	struct bench b;
	begin(&b, threads);
	for (int i = 0; i < ENDS; i++)
		attach(&b, i, NULL);
	/* 1 is not known yet: all ports get it. */
	send_frame(&b, 0, frame_between(1, 9));
	expect(&b, 1, frame_between(1, 9));
	expect(&b, 2, frame_between(1, 9));
	/* 9 is known: only its port gets it. */
	send_frame(&b, 1, frame_between(9, 1));
	expect(&b, 0, frame_between(9, 1));
	send_frame(&b, 0, frame_between(1, 9));
	expect(&b, 1, frame_between(1, 9));
	assert_true(is_quiet(&b, 2));
	/* Back to the port it came from. */
	send_frame(&b, 0, frame_between(9, 8));
	expect_drop(&b, 0, SWITCH_SAME_PORT, 1);
	/* An address that moved. */
	send_frame(&b, 2, frame_between(1, 9));
	expect(&b, 1, frame_between(1, 9));
	send_frame(&b, 1, frame_between(9, 1));
	expect(&b, 2, frame_between(9, 1));
	expect_sums(&b, 0, 3);
	expect_sums(&b, 1, 2);
	expect_sums(&b, 2, 1);
	end(&b);
}

static void test_learns(void **state)
{
	(void)state;
	learns(1);
}

static void test_learns_with_two_threads(void **state)
{
	(void)state;
	learns(2);
}

static void test_drops_what_no_bridge_forwards(void **state)
{
	struct bench b;
	struct frame group = frame_between(1, 2), local = frame_between(1, 2);
	(void)state;
	begin(&b, 1);
	attach(&b, 0, NULL);
	/* With a single port there is no port to flood to. */
	send_frame(&b, 0, frame_between(1, 2));
	expect_drop(&b, 0, SWITCH_NO_MEMBER, 1);
	attach(&b, 1, NULL);
	group.bytes[6] = 3;
	send_frame(&b, 0, group);
	expect_drop(&b, 0, SWITCH_BAD_SOURCE, 1);
	memcpy(local.bytes, "\x01\x80\xc2\x00\x00\x0e", 6);
	send_frame(&b, 0, local);
	expect_drop(&b, 0, SWITCH_LINK_LOCAL, 1);
	memcpy(local.bytes, "\x01\x80\xc2\x00\x00\x10", 6);
	send_frame(&b, 0, local);
	expect(&b, 1, local);
	expect_sums(&b, 0, 4);
	end(&b);
}

/* Its key is that of free places in the table, which may keep old values. */
static void test_knows_nobody_of_the_address_zero(void **state)
{
	struct bench b;
	struct frame zero = frame_between(0, 9);
	(void)state;
	begin(&b, 1);
	for (int i = 0; i < ENDS; i++)
		attach(&b, i, NULL);
	for (uint8_t from = 100; from < 150; from++) {
		send_frame(&b, 1, frame_between(1, from));
		expect(&b, 0, frame_between(1, from));
		expect(&b, 2, frame_between(1, from));
	}
	switch_detach(b.s, b.ports[1]);
	attach(&b, 1, NULL);
	zero.bytes[0] = 0;
	for (int i = 0; i < 3; i++) {
		send_frame(&b, 0, zero);
		expect(&b, 1, zero);
		expect(&b, 2, zero);
	}
	end(&b);
}

static void test_keeps_vlans_apart(void **state)
{
	struct bench b;
	struct switch_port_config access = {.vlan = 10}, trunk = {.vlan = 0};
	(void)state;
	trunk.trunk[10] = trunk.trunk[20] = true;
	begin(&b, 1);
	attach(&b, 0, &access);
	attach(&b, 1, &trunk);
	attach(&b, 2, NULL);
	send_frame(&b, 0, frame_between(1, 9));
	expect(&b, 1, tagged(frame_between(1, 9), 10));
	send_frame(&b, 1, tagged(frame_between(9, 1), 10));
	/* A frame that a tag padded is longer without the tag than it was before. */
	expect(&b, 0, frame_between(9, 1));
	send_frame(&b, 1, tagged(frame_between(9, 1), 20));
	expect_drop(&b, 1, SWITCH_NO_MEMBER, 1);
	send_frame(&b, 1, tagged(frame_between(9, 1), 30));
	send_frame(&b, 1, frame_between(9, 1));
	expect_drop(&b, 1, SWITCH_VLAN_DENIED, 2);
	send_frame(&b, 2, frame_between(9, 1));
	expect_drop(&b, 2, SWITCH_NO_MEMBER, 1);
	assert_true(is_quiet(&b, 0));
	expect_sums(&b, 1, 4);
	end(&b);
}

static void test_limits_floods(void **state)
{
	struct bench b;
	/* A packet per thousand seconds, after the 64 that a bucket holds. */
	struct switch_port_config slow = {.flood_upps = 1000, .broadcast_upps = 1000};
	struct frame everybody = frame_between(1, 2);
	(void)state;
	memset(everybody.bytes, 0xff, 6);
	begin(&b, 1);
	attach(&b, 0, &slow);
	attach(&b, 1, NULL);
	for (int i = 0; i < 70; i++) {
		send_frame(&b, 0, frame_between(1, 2));
		send_frame(&b, 0, everybody);
	}
	expect_drop(&b, 0, SWITCH_FLOOD_LIMIT, 6);
	expect_drop(&b, 0, SWITCH_BROADCAST_LIMIT, 6);
	expect_sums(&b, 0, 140);
	end(&b);
}

static void test_ports_come_and_go(void **state)
{
	struct bench b;
	struct switch_port_config known = {.macs = {{2, 0, 0, 0, 0, 5}}, .mac_count = 1};
	char error[200];
	(void)state;
	begin(&b, 1);
	attach(&b, 0, NULL);
	for (int round = 0; round < 20; round++) {
		attach(&b, 1, &known);
		assert_int_equal(switch_attach(b.s, b.ports[1], &known, error, sizeof error),
				 -EEXIST);
		attach(&b, 2, NULL);
		send_frame(&b, 0, frame_between(5, 9));
		expect(&b, 1, frame_between(5, 9));
		assert_true(is_quiet(&b, 2));
		assert_int_equal(switch_detach(b.s, b.ports[1]), 0);
		assert_int_equal(switch_detach(b.s, b.ports[1]), -ENOENT);
		send_frame(&b, 0, frame_between(5, 9));
		expect(&b, 2, frame_between(5, 9));
		assert_int_equal(switch_detach(b.s, b.ports[2]), 0);
	}
	end(&b);
}

static unsigned known_at(struct bench *b, uint8_t last, uint16_t vlan)
{
	const uint8_t mac[6] = {2, 0, 0, 0, 0, last};
	uint64_t key = mac_key_of(mac, vlan);
	uint64_t value = mac_find(&b->s->table, key, mac_hash(&b->s->table, key));
	return value ? mac_port(value) : SWITCH_PORTS_MAX;
}

/* No other port takes them over, and a port that fails to attach does not remove them. */
static void test_keeps_static_addresses_with_their_port(void **state)
{
	struct bench b;
	struct switch_port_config known = {.macs = {{2, 0, 0, 0, 0, 5}}, .mac_count = 1};
	struct switch_port_config tagged_too = {.mac_count = 1}, many = {0};
	char error[200];
	(void)state;
	begin(&b, 1);
	attach(&b, 0, &known);
	struct switch_port_config more = {.macs = {{2, 0, 0, 0, 0, 6}, {2, 0, 0, 0, 0, 5}},
					  .mac_count = 2};
	assert_int_equal(switch_attach(b.s, b.ports[1], &more, error, sizeof error), -EEXIST);
	assert_non_null(strstr(error, "02:00:00:00:00:05"));
	assert_non_null(strstr(error, "p0"));
	assert_int_equal(known_at(&b, 5, 0), 0);
	assert_int_equal(known_at(&b, 6, 0), SWITCH_PORTS_MAX);
	/* In a VLAN it is a different address. */
	tagged_too.trunk[10] = true;
	memcpy(tagged_too.macs, known.macs, sizeof known.macs);
	attach(&b, 1, &tagged_too);
	assert_int_equal(known_at(&b, 5, 10), 1);
	/* More than the table has room for. */
	for (many.mac_count = 0; many.mac_count < SWITCH_STATIC_MAX; many.mac_count++)
		memcpy(many.macs[many.mac_count],
		       frame_between(0, (uint8_t)(100 + many.mac_count)).bytes + 6, 6);
	assert_int_equal(switch_attach(b.s, b.ports[2], &many, error, sizeof error), -ENOSPC);
	assert_int_equal(known_at(&b, 5, 0), 0);
	assert_int_equal(known_at(&b, 5, 10), 1);
	assert_int_equal(known_at(&b, 100, 0), SWITCH_PORTS_MAX);
	end(&b);
}

static uint32_t word(const uint8_t *at)
{
	uint32_t w;
	memcpy(&w, at, 4);
	return w;
}

static void test_mirrors(void **state)
{
	struct bench b;
	struct mirror_config config = {.directions = MIRROR_RX | MIRROR_TX, .snap_bytes = 20};
	struct mirror_counts counts;
	char error[500] = "";
	uint8_t file[500];
	uint64_t id;
	(void)state;
	snprintf(config.file, sizeof config.file, "/tmp/nines-mirror-test.%d", getpid());
	begin(&b, 1);
	attach(&b, 0, NULL);
	attach(&b, 1, NULL);
	struct switch_port *p = switch_find(b.s, b.ports[0]);
	assert_int_equal(switch_mirror(p, &config, &id, error, sizeof error), 0);
	time_t before = time(NULL);
	send_frame(&b, 0, frame_between(1, 9));
	expect(&b, 1, frame_between(1, 9));
	send_frame(&b, 1, frame_between(9, 1));
	expect(&b, 0, frame_between(9, 1));
	assert_int_equal(switch_end_mirror(b.s, p, id, &counts), 0);
	assert_int_equal(counts.packets, 2);
	assert_int_equal(counts.dropped, 0);
	end(&b);
	FILE *f = fopen(config.file, "rb");
	assert_non_null(f);
	assert_int_equal(fread(file, 1, sizeof file, f), 24 + 2 * (16 + 20));
	fclose(f);
	unlink(config.file);
	assert_int_equal(word(file), 0xa1b23c4d);
	assert_int_equal(word(file + 20), 1);
	assert_in_range(word(file + 24), before - 1, before + 60);
	assert_in_range(word(file + 28), 0, 999999999);
	assert_int_equal(word(file + 32), 20);
	assert_int_equal(word(file + 36), 60);
	assert_memory_equal(file + 40, frame_between(1, 9).bytes, 20);
	assert_memory_equal(file + 76, frame_between(9, 1).bytes, 20);
	uint64_t first = word(file + 24) * UINT64_C(1000000000) + word(file + 28);
	uint64_t second = word(file + 60) * UINT64_C(1000000000) + word(file + 64);
	assert_true(second > first);
}

static off_t file_bytes(const char *path)
{
	struct stat s;
	assert_int_equal(stat(path, &s), 0);
	return s.st_size;
}

/* Neither a port nor a file has two mirrors, and ending one ends no other. */
static void test_mirrors_keep_apart(void **state)
{
	struct bench b;
	struct mirror_config first = {.directions = MIRROR_RX}, second = first, same = first;
	struct mirror_counts counts;
	char error[500] = "";
	uint64_t id, other, again;
	(void)state;
	snprintf(first.file, sizeof first.file, "/tmp/nines-mirror-first.%d", getpid());
	snprintf(second.file, sizeof second.file, "/tmp/nines-mirror-second.%d", getpid());
	/* Another name of the first file. */
	snprintf(same.file, sizeof same.file, "/tmp/nines-mirror-same.%d", getpid());
	begin(&b, 1);
	attach(&b, 0, NULL);
	attach(&b, 1, NULL);
	struct switch_port *p = switch_find(b.s, b.ports[0]), *q = switch_find(b.s, b.ports[1]);
	assert_int_equal(switch_mirror(p, &first, &id, error, sizeof error), 0);
	assert_int_equal(switch_mirror(p, &second, &other, error, sizeof error), -EBUSY);
	assert_non_null(strstr(error, first.file));
	assert_int_not_equal(access(second.file, F_OK), 0);
	assert_int_equal(link(first.file, same.file), 0);
	assert_int_equal(switch_mirror(q, &same, &other, error, sizeof error), -EBUSY);
	assert_non_null(strstr(error, same.file));
	assert_int_equal(switch_mirror(q, &second, &other, error, sizeof error), 0);
	assert_int_not_equal(other, id);
	send_frame(&b, 0, frame_between(1, 9));
	expect(&b, 1, frame_between(1, 9));
	assert_int_equal(switch_end_mirror(b.s, p, other, &counts), -ECANCELED);
	assert_int_equal(switch_end_mirror(b.s, p, id, &counts), 0);
	assert_int_equal(counts.packets, 1);
	assert_int_equal(file_bytes(first.file), 24 + 16 + 60);
	assert_int_equal(switch_end_mirror(b.s, p, id, &counts), -ECANCELED);
	/* Its file is free again, and is emptied; id 0 means any mirror. */
	assert_int_equal(switch_mirror(p, &same, &again, error, sizeof error), 0);
	assert_int_equal(file_bytes(first.file), 24);
	assert_int_equal(switch_end_mirror(b.s, p, id, &counts), -ECANCELED);
	assert_int_equal(switch_end_mirror(b.s, p, 0, &counts), 0);
	assert_int_equal(switch_end_mirror(b.s, p, 0, &counts), 0);
	end(&b);
	unlink(first.file);
	unlink(second.file);
	unlink(same.file);
}

/* Limits files of this process to `bytes`, as a full disk would. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_mirror_counts_what_a_full_disk_loses(void **state)
{
	enum { FIT = 3, SENT = 10, RECORD = 16 + 60 };
	struct bench b;
	struct mirror_config config = {.directions = MIRROR_RX};
	struct mirror_counts counts;
	char error[500] = "";
	uint64_t id;
	(void)state;
	snprintf(config.file, sizeof config.file, "/tmp/nines-mirror-full.%d", getpid());
	begin(&b, 1);
	attach(&b, 0, NULL);
	attach(&b, 1, NULL);
	struct switch_port *p = switch_find(b.s, b.ports[0]);
	signal(SIGXFSZ, SIG_IGN);
	limit_files(24 + FIT * RECORD + RECORD / 2);
	assert_int_equal(switch_mirror(p, &config, &id, error, sizeof error), 0);
	for (int i = 0; i < SENT; i++) {
		send_frame(&b, 0, frame_between(1, 9));
		expect(&b, 1, frame_between(1, 9));
	}
	assert_int_equal(switch_end_mirror(b.s, p, id, &counts), 0);
	limit_files(RLIM_INFINITY);
	assert_int_equal(counts.err, -EFBIG);
	/* How many fit into the file depends on how they are batched. */
	assert_in_range(counts.packets, 0, FIT);
	assert_int_equal(counts.packets + counts.dropped, SENT);
	assert_int_equal(file_bytes(config.file), 24 + counts.packets * RECORD);
	end(&b);
	unlink(config.file);
}

static void test_mirror_refuses_what_is_no_file(void **state)
{
	struct mirror_config config = {.directions = MIRROR_RX, .file = "/dev/null"};
	struct mirror *m;
	char error[500] = "";
	(void)state;
	assert_int_equal(mirror_start(&m, &config, error, sizeof error), -EINVAL);
	assert_non_null(strstr(error, "regular file"));
}

static int set_up(void **state)
{
	(void)state;
	clock_init();
	return 0;
}

/* Counts what comes to an end until nothing more is to come. */
static unsigned receive_all(struct bench *b, int i, unsigned expected)
{
	unsigned count = 0;
	struct packet p;
	for (int turn = 0; turn < 5000 && count < expected; turn++) {
		if (port_memory.rx_burst(b->ends[i], &p, 1) == 1) {
			port_memory.rx_release(b->ends[i], &p, 1);
			count++;
			turn = 0;
			continue;
		}
		usleep(1000);
	}
	return count;
}

static void test_impairs_what_a_port_receives(void **state)
{
	enum { SENT = 300 };
	struct bench b;
	struct switch_port_config config = {.impair = {.given = true,
						       .loss = 0.2,
						       .duplicate = 0.2,
						       .delay_ns = 2000000,
						       .jitter_ns = 1000000,
						       .seed = 9,
						       .limit = SENT}};
	unsigned lost = 0, duplicated = 0;
	(void)state;
	for (unsigned n = 0; n < SENT; n++) {
		struct impair_fate fate = impair_fate(&config.impair, n);
		lost += fate.lost;
		duplicated += fate.duplicated;
	}
	begin(&b, 1);
	attach(&b, 0, &config);
	attach(&b, 1, NULL);
	/* Teaches the switch where 9 is, in the direction that is not impaired. */
	send_frame(&b, 1, frame_between(1, 9));
	expect(&b, 0, frame_between(1, 9));
	for (unsigned n = 0; n < SENT; n++) {
		uint64_t sent = clock_ticks();
		send_frame(&b, 0, frame_between(9, 1));
		if (n == 0 && !impair_fate(&config.impair, 0).lost) {
			expect(&b, 1, frame_between(9, 1));
			/* The host can make it later, and nothing makes it earlier. */
			assert_true(clock_ticks_to_ns(&clock_global.scale, clock_ticks() - sent) >=
				    impair_fate(&config.impair, 0).delay_ns);
		}
	}
	unsigned first = !impair_fate(&config.impair, 0).lost;
	assert_int_equal(receive_all(&b, 1, SENT - lost + duplicated - first),
			 SENT - lost + duplicated - first);
	usleep(5000);
	assert_true(is_quiet(&b, 1));
	const struct switch_port *p = switch_find(b.s, b.ports[0]);
	assert_int_equal(p->rx.packets, SENT);
	assert_int_equal(p->rx.drops[SWITCH_IMPAIRED], lost);
	assert_int_equal(p->rx.forwarded, SENT - lost + duplicated);
	end(&b);
}

static void test_gives_packets_back_that_wait_at_the_end(void **state)
{
	struct bench b;
	struct switch_port_config config = {
		.impair = {.given = true, .delay_ns = UINT64_C(60000000000), .limit = 10}};
	(void)state;
	begin(&b, 1);
	attach(&b, 0, &config);
	attach(&b, 1, NULL);
	for (int i = 0; i < 12; i++)
		send_frame(&b, 0, frame_between(9, 1));
	expect_drop(&b, 0, SWITCH_IMPAIR_LIMIT, 2);
	assert_int_equal(switch_detach(b.s, b.ports[0]), 0);
	assert_true(is_quiet(&b, 1));
	end(&b);
}

static void cut(struct bench *b, int i, bool is_cut)
{
	atomic_store(&switch_find(b->s, b->ports[i])->cut, is_cut);
}

static void test_a_cut_port_passes_nothing(void **state)
{
	struct bench b;
	(void)state;
	begin(&b, 1);
	for (int i = 0; i < ENDS; i++)
		attach(&b, i, NULL);
	send_frame(&b, 1, frame_between(1, 9));
	expect(&b, 0, frame_between(1, 9));
	expect(&b, 2, frame_between(1, 9));
	cut(&b, 1, true);
	/* To it: known, and flooded, which only the third port gets. */
	send_frame(&b, 0, frame_between(9, 1));
	expect_drop(&b, 0, SWITCH_CUT, 1);
	send_frame(&b, 0, frame_between(5, 1));
	expect(&b, 2, frame_between(5, 1));
	/* From it. */
	send_frame(&b, 1, frame_between(1, 9));
	expect_drop(&b, 1, SWITCH_CUT, 1);
	cut(&b, 1, false);
	send_frame(&b, 0, frame_between(9, 1));
	expect(&b, 1, frame_between(9, 1));
	assert_true(is_quiet(&b, 0));
	expect_sums(&b, 0, 3);
	expect_sums(&b, 1, 2);
	end(&b);
}

static atomic_bool there;

static bool is_there(struct port *port)
{
	(void)port;
	return atomic_load(&there);
}

/* The CPU time of the switch's thread in some milliseconds, per cent of what passes. */
static unsigned busy(const struct switch_ *s)
{
	const struct timespec pause = {.tv_nsec = 200000000};
	struct timespec before, after;
	clockid_t clock;
	uint64_t begin = clock_monotonic_ns();
	assert_int_equal(pthread_getcpuclockid(s->threads[0].thread, &clock), 0);
	clock_gettime(clock, &before);
	nanosleep(&pause, NULL);
	clock_gettime(clock, &after);
	uint64_t used = (uint64_t)(after.tv_sec - before.tv_sec) * 1000000000 +
			(uint64_t)after.tv_nsec - (uint64_t)before.tv_nsec;
	return (unsigned)(100 * used / (clock_monotonic_ns() - begin));
}

/* Without another end it sleeps, and it passes the first packet of one that comes. */
static void test_polls_for_nobody(void **state)
{
	(void)state;
	struct bench b = {0};
	struct port_ops ops = port_memory;
	ops.connected = is_there;
	atomic_store(&there, false);
	begin(&b, 1);
	for (int i = 0; i < ENDS; i++) {
		b.ports[i]->ops = &ops;
		attach(&b, i, NULL);
	}
	/* It looks for others each quarter of a second. */
	for (int tries = 0; busy(b.s) > 50; tries++)
		assert_true(tries < 100);
	atomic_store(&there, true);
	send_frame(&b, 0, frame_between(9, 1));
	assert_int_equal(receive(&b, 1).bytes[11], 1);
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_learns),
		cmocka_unit_test(test_learns_with_two_threads),
		cmocka_unit_test(test_drops_what_no_bridge_forwards),
		cmocka_unit_test(test_knows_nobody_of_the_address_zero),
		cmocka_unit_test(test_keeps_vlans_apart),
		cmocka_unit_test(test_limits_floods),
		cmocka_unit_test(test_ports_come_and_go),
		cmocka_unit_test(test_keeps_static_addresses_with_their_port),
		cmocka_unit_test(test_mirrors),
		cmocka_unit_test(test_mirrors_keep_apart),
		cmocka_unit_test(test_mirror_counts_what_a_full_disk_loses),
		cmocka_unit_test(test_mirror_refuses_what_is_no_file),
		cmocka_unit_test(test_impairs_what_a_port_receives),
		cmocka_unit_test(test_gives_packets_back_that_wait_at_the_end),
		cmocka_unit_test(test_a_cut_port_passes_nothing),
		cmocka_unit_test(test_polls_for_nobody),
	};
	return cmocka_run_group_tests(tests, set_up, NULL);
}
