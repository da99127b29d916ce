/*
 * A guest writes invalid data into its rings and takes its memory away, next to two ports that must
 * not notice:
 *
 *   test guest -- vhost-user, a memfd -- port 0 --+
 *   test ======= memory pair ========== port 1 --+-- switch
 *   test ======= memory pair ========== port 2 --+
 */
#include "switch/switch.h"

#include "clock/clock.h"
#include "port/vhost_message.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/virtio_ring.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

enum {
	GUEST_BYTES = 1 << 20,
	RING = 64,
	RINGS_AT = 0, /* each ring has its part of the memory; the buffers follow */
	RING_BYTES = 4096,
	BUFFERS_AT = 65536,
	BUFFER_BYTES = 2048,
};

/* Where a guest's "physical" addresses begin; its user addresses are elsewhere. */
#define GUEST_BASE UINT64_C(0x100000000)
#define USER_BASE  UINT64_C(0x700000000000)

struct guest {
	int socket, memfd, event; /* event: wakes the guest */
	uint8_t *memory;
	uint16_t sent, offered;
};

struct world {
	struct switch_ *s;
	struct port *vhost, *ends[2], *ports[2];
	char path[100];
};

static struct vring ring_of(struct guest *g, unsigned i)
{
	struct vring r = {.num = RING};
	uint8_t *at = g->memory + RINGS_AT + i * RING_BYTES;
	r.desc = (struct vring_desc *)(void *)at;
	r.avail = (struct vring_avail *)(void *)(at + 2048);
	r.used = (struct vring_used *)(void *)(at + 3072);
	return r;
}

/* Sends a message; -1 when the switch has disconnected. */
static int say(struct guest *g, struct vhost_message *m, uint32_t request, uint32_t bytes, int fd)
{
	char control[CMSG_SPACE(sizeof fd)] = {0};
	m->request = request;
	m->flags = VHOST_VERSION;
	m->bytes = bytes;
	struct iovec parts[2] = {{m, VHOST_HEADER_BYTES}, {&m->payload, bytes}};
	struct msghdr header = {.msg_iov = parts, .msg_iovlen = 2};
	if (fd >= 0) {
		header.msg_control = control;
		header.msg_controllen = sizeof control;
		struct cmsghdr *c = CMSG_FIRSTHDR(&header);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
	}
	return sendmsg(g->socket, &header, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static void say_ring(struct guest *g, uint32_t request, uint32_t index, uint32_t number)
{
	struct vhost_message m = {0};
	m.payload.ring.index = index;
	m.payload.ring.number = number;
	say(g, &m, request, sizeof m.payload.ring, -1);
}

static void connect_guest(struct guest *g, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	memset(g, 0, sizeof *g);
	g->event = -1;
	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	g->socket = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(connect(g->socket, (struct sockaddr *)&address, sizeof address), 0);
	g->memfd = memfd_create("guest", 0);
	assert_int_equal(ftruncate(g->memfd, GUEST_BYTES), 0);
	g->memory = mmap(NULL, GUEST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, g->memfd, 0);
	assert_ptr_not_equal(g->memory, MAP_FAILED);
}

static void disconnect_guest(struct guest *g)
{
	close(g->socket);
	close(g->memfd);
	if (g->event >= 0)
		close(g->event);
	munmap(g->memory, GUEST_BYTES);
}

/* Does what a frontend does: features, memory, both rings. */
static void set_up_guest(struct guest *g, uint64_t features)
{
	struct vhost_message m = {0};
	g->event = eventfd(0, 0);
	m.payload.number = features;
	say(g, &m, VHOST_SET_FEATURES, 8, -1);
	m.payload.memory.count = 1;
	m.payload.memory.padding = 0;
	m.payload.memory.regions[0].guest = GUEST_BASE;
	m.payload.memory.regions[0].bytes = GUEST_BYTES;
	m.payload.memory.regions[0].user = USER_BASE;
	m.payload.memory.regions[0].offset = 0;
	say(g, &m, VHOST_SET_MEM_TABLE, 40, g->memfd);
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t at = USER_BASE + RINGS_AT + i * RING_BYTES;
		say_ring(g, VHOST_SET_VRING_NUM, i, RING);
		say_ring(g, VHOST_SET_VRING_BASE, i, 0);
		m.payload.address.index = i;
		m.payload.address.flags = 0;
		m.payload.address.descriptors = at;
		m.payload.address.available = at + 2048;
		m.payload.address.used = at + 3072;
		m.payload.address.log = 0;
		say(g, &m, VHOST_SET_VRING_ADDR, 40, -1);
		m.payload.number = i;
		say(g, &m, VHOST_SET_VRING_CALL, 8, g->event);
		m.payload.number = i;
		say(g, &m, VHOST_SET_VRING_KICK, 8, g->event);
		say_ring(g, VHOST_SET_VRING_ENABLE, i, 1);
	}
}

static void wait_until_up(struct world *w)
{
	for (int turn = 0; turn < 5000; turn++) {
		if (port_connected(w->vhost))
			return;
		usleep(1000);
	}
	char text[200];
	port_vhost.state(w->vhost, text, sizeof text);
	fail_msg("the guest does not get up: %s", text);
}

static struct port *open_port(const struct port_ops *ops, const char *name, const char *where)
{
	struct port_config c = {
		.io = PORT_BATCH, .wait = PORT_SPIN, .frame_bytes = 1518, .server = true};
	struct port *port = NULL;
	char error[300];
	snprintf(c.name, sizeof c.name, "%s", name);
	snprintf(ops->takes_device ? c.device : c.interface,
		 ops->takes_device ? sizeof c.device : sizeof c.interface, "%s", where);
	if (ops->open(&c, &port, error, sizeof error))
		fail_msg("%s", error);
	return port;
}

static void attach(struct world *w, struct port *port, uint8_t mac)
{
	struct switch_port_config c = {.macs = {{2, 0, 0, 0, 0, mac}}, .mac_count = 1};
	char error[300] = "";
	if (switch_attach(w->s, port, &c, error, sizeof error))
		fail_msg("%s", error);
}

static void begin(struct world *w)
{
	struct switch_config config = {.macs = 64};
	char error[300] = "";
	if (switch_start(&w->s, &config, error, sizeof error))
		fail_msg("%s", error);
	snprintf(w->path, sizeof w->path, "/tmp/nines-hostile.%d", getpid());
	w->vhost = open_port(&port_vhost, "guest", w->path);
	attach(w, w->vhost, 1);
	for (uint8_t i = 0; i < 2; i++) {
		char pair[8];
		snprintf(pair, sizeof pair, "m%d", i);
		w->ends[i] = open_port(&port_memory, "end", pair);
		w->ports[i] = open_port(&port_memory, pair, pair);
		attach(w, w->ports[i], (uint8_t)(2 + i));
	}
}

static void end(struct world *w)
{
	switch_stop(w->s);
	switch_free(w->s);
	port_vhost.close(w->vhost);
	assert_int_not_equal(access(w->path, F_OK), 0);
	for (int i = 0; i < 2; i++) {
		port_memory.close(w->ports[i]);
		port_memory.close(w->ends[i]);
	}
}

static void frame_to(uint8_t *at, uint8_t to, uint8_t from)
{
	const uint8_t header[14] = {2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 0x88, 0xb5};
	memset(at, 0, 60);
	memcpy(at, header, sizeof header);
}

/* Checks that the other ports are still served. */
static void expect_service(struct world *w, uint8_t to)
{
	struct packet p;
	assert_int_equal(port_memory.tx_acquire(w->ends[0], &p, 1), 1);
	frame_to(p.data, to, 2);
	p.length = 60;
	assert_int_equal(port_memory.tx_commit(w->ends[0], &p, 1), 1);
	for (int turn = 0; to == 3 && turn < 5000; turn++) {
		/* Frames from the guest may arrive here, too. */
		while (port_memory.rx_burst(w->ends[1], &p, 1) == 1) {
			bool ours = p.length == 60 && p.data[11] == 2;
			port_memory.rx_release(w->ends[1], &p, 1);
			if (ours)
				return;
		}
		usleep(1000);
	}
	if (to == 3)
		fail_msg("a guest has stopped the others");
}

/* The guest offers a buffer to receive into. */
static void offer(struct guest *g)
{
	struct vring r = ring_of(g, 0);
	uint16_t i = g->offered % RING;
	r.desc[i] = (struct vring_desc){
		.addr = GUEST_BASE + BUFFERS_AT + i * BUFFER_BYTES,
		.len = BUFFER_BYTES,
		.flags = VRING_DESC_F_WRITE,
	};
	r.avail->ring[g->offered % RING] = i;
	__atomic_store_n(&r.avail->idx, ++g->offered, __ATOMIC_RELEASE);
}

/* The guest sends a frame in two descriptors, as guests without ANY_LAYOUT do. */
static void send_chain(struct guest *g, uint8_t to)
{
	struct vring r = ring_of(g, 1);
	uint16_t i = (uint16_t)(g->sent * 2 % RING);
	uint64_t at = BUFFERS_AT + 65536 * 2 + i * BUFFER_BYTES;
	r.desc[i] = (struct vring_desc){GUEST_BASE + at, 10, VRING_DESC_F_NEXT, (uint16_t)(i + 1)};
	r.desc[i + 1] = (struct vring_desc){GUEST_BASE + at + 10, 60, 0, 0};
	memset(g->memory + at, 0, 10);
	frame_to(g->memory + at + 10, to, 1);
	r.avail->ring[g->sent % RING] = i;
	__atomic_store_n(&r.avail->idx, ++g->sent, __ATOMIC_RELEASE);
}

static bool wait_used(const struct vring *r, uint16_t want)
{
	for (int turn = 0; turn < 5000; turn++) {
		if (__atomic_load_n(&r->used->idx, __ATOMIC_ACQUIRE) == want)
			return true;
		usleep(1000);
	}
	return false;
}

/* A guest that follows the protocol sends and receives, with the header of 10 bytes. */
static void expect_good_guest(struct world *w)
{
	struct guest g;
	struct packet p;
	connect_guest(&g, w->path);
	set_up_guest(&g, 0);
	wait_until_up(w);
	struct vring in = ring_of(&g, 0), out = ring_of(&g, 1);
	while (port_memory.rx_burst(w->ends[1], &p, 1) == 1)
		port_memory.rx_release(w->ends[1], &p, 1);
	/* Frames for an earlier guest may wait in the port yet; this one comes after them, and they
	 * find no buffer. */
	expect_service(w, 3);
	for (int i = 0; i < RING; i++)
		offer(&g);
	send_chain(&g, 3);
	assert_true(wait_used(&out, 1));
	expect_service(w, 1);
	assert_true(wait_used(&in, 1));
	uint32_t id = in.used->ring[0].id;
	assert_int_equal(id, 0);
	assert_int_equal(in.used->ring[0].len, 70);
	uint8_t want[60];
	frame_to(want, 1, 2);
	assert_memory_equal(g.memory + BUFFERS_AT + 10, want, 60);
	disconnect_guest(&g);
}

static void test_good_guest(void **state)
{
	struct world w;
	(void)state;
	begin(&w);
	expect_good_guest(&w);
	/* The next guest works. */
	expect_good_guest(&w);
	end(&w);
}

static uint64_t random_state = 88172645463325252u;

static uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

/* Writes invalid data that the switch reads, often almost valid: the right addresses, lengths and
 * indices with a bit changed. */
static void corrupt(struct guest *g)
{
	struct vring r = ring_of(g, (unsigned)(random_number() & 1));
	struct vring_desc *d = &r.desc[random_number() % RING];
	switch (random_number() % 8) {
	case 0:
		d->addr = random_number();
		break;
	case 1:
		d->addr = GUEST_BASE + GUEST_BYTES - random_number() % 128;
		break;
	case 2:
		d->len = (uint32_t)random_number();
		break;
	case 3:
		d->flags = (uint16_t)random_number();
		break;
	case 4:
		d->next = (uint16_t)(random_number() % (RING + 2));
		d->flags |= VRING_DESC_F_NEXT;
		break;
	case 5:
		r.avail->ring[random_number() % RING] = (uint16_t)random_number();
		break;
	case 6:
		r.avail->idx = (uint16_t)(r.avail->idx + random_number() % RING);
		break;
	default:
		if (random_number() % 16 == 0)
			r.avail->idx = (uint16_t)random_number();
		break;
	}
}

static void test_nonsense_in_rings_stops_nobody(void **state)
{
	static const uint64_t features[] = {0, UINT64_C(1) << 15, UINT64_C(1) << 32,
					    UINT64_C(1) << 32 | UINT64_C(1) << 29 |
						    UINT64_C(1) << 15};
	struct world w;
	(void)state;
	begin(&w);
	for (unsigned round = 0; round < 40; round++) {
		struct guest g;
		connect_guest(&g, w.path);
		set_up_guest(&g, features[round % 4]);
		wait_until_up(&w);
		for (int i = 0; i < 2000; i++) {
			offer(&g);
			send_chain(&g, (uint8_t)(1 + random_number() % 4));
			for (uint64_t n = random_number() % 4; n > 0; n--)
				corrupt(&g);
			if (i % 500 == 0)
				expect_service(&w, 3);
			if (i % 10 == 0)
				expect_service(&w, 1);
		}
		expect_service(&w, 3);
		disconnect_guest(&g);
	}
	expect_good_guest(&w);
	struct switch_port *p = switch_find(w.s, w.vhost);
	uint64_t sum = p->rx.forwarded + p->rx.flooded;
	for (int i = 0; i < SWITCH_DROPS; i++)
		sum += p->rx.drops[i];
	assert_int_equal(sum, p->rx.packets);
	assert_true(p->rx.packets > 0);
	end(&w);
}

static void test_memory_taken_away_stops_nobody(void **state)
{
	struct world w;
	(void)state;
	begin(&w);
	for (int round = 0; round < 10; round++) {
		struct guest g;
		char text[200] = "";
		connect_guest(&g, w.path);
		set_up_guest(&g, 0);
		wait_until_up(&w);
		for (int i = 0; i < RING; i++)
			offer(&g);
		/* Cuts the file before, within and after the rings. */
		assert_int_equal(ftruncate(g.memfd, round % 3 * 4096), 0);
		for (int i = 0; i < 200; i++)
			expect_service(&w, i % 2 ? 1 : 3);
		for (int turn = 0; turn < 5000 && !strstr(text, "removed shared memory"); turn++) {
			usleep(1000);
			expect_service(&w, 1);
			port_vhost.state(w.vhost, text, sizeof text);
			/* If the rings are whole and nothing is sent, nothing touches the
			 * memory. */
			if (round % 3 == 2 && turn > 100)
				break;
		}
		if (round % 3 != 2)
			assert_non_null(strstr(text, "removed shared memory"));
		disconnect_guest(&g);
	}
	expect_good_guest(&w);
	end(&w);
}

static void test_nonsense_in_messages_stops_nobody(void **state)
{
	struct world w;
	(void)state;
	begin(&w);
	for (int round = 0; round < 300; round++) {
		struct guest g;
		struct vhost_message m;
		connect_guest(&g, w.path);
		if (round % 2)
			set_up_guest(&g, 0);
		for (int i = 0; i < 20; i++) {
			uint64_t *raw = (uint64_t *)(void *)m.payload.raw;
			for (size_t n = 0; n < sizeof m.payload / 8; n++)
				raw[n] = random_number() >> (random_number() % 64);
			if (say(&g, &m, (uint32_t)(random_number() % 42),
				(uint32_t)(random_number() % sizeof m.payload),
				random_number() % 2 ? g.memfd : -1) < 0)
				break;
		}
		if (round % 50 == 0)
			expect_service(&w, 3);
		disconnect_guest(&g);
	}
	expect_service(&w, 3);
	expect_good_guest(&w);
	end(&w);
}

/* A sleeping guest is woken; a guest whose eventfd would block its writer stops no port. */
static void test_full_eventfd_stops_nobody(void **state)
{
	const uint64_t full = UINT64_MAX - 1;
	uint64_t woken = 0;
	struct world w;
	struct guest g;
	(void)state;
	begin(&w);
	connect_guest(&g, w.path);
	set_up_guest(&g, 0);
	wait_until_up(&w);
	send_chain(&g, 3);
	assert_int_equal(read(g.event, &woken, sizeof woken), sizeof woken);
	assert_true(woken > 0);
	assert_int_equal(fcntl(g.event, F_SETFL, O_NONBLOCK), 0);
	/* The switch may wake the guest again in between; then the eventfd is full. */
	do {
		while (read(g.event, &woken, sizeof woken) > 0)
			;
	} while (write(g.event, &full, sizeof full) < 0 && errno == EAGAIN);
	assert_int_equal(fcntl(g.event, F_SETFL, 0), 0);
	struct vring out = ring_of(&g, 1);
	for (uint16_t i = 0; i < 20; i++) {
		send_chain(&g, 3);
		expect_service(&w, 3);
		assert_true(wait_used(&out, (uint16_t)(i + 2)));
	}
	disconnect_guest(&g);
	expect_good_guest(&w);
	end(&w);
}

static int set_up(void **state)
{
	(void)state;
	clock_init();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_guest),
		cmocka_unit_test(test_nonsense_in_rings_stops_nobody),
		cmocka_unit_test(test_memory_taken_away_stops_nobody),
		cmocka_unit_test(test_nonsense_in_messages_stops_nobody),
		cmocka_unit_test(test_full_eventfd_stops_nobody),
	};
	return cmocka_run_group_tests(tests, set_up, NULL);
}
