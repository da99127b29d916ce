/*
 * switch: a learning Ethernet switch between ports of any backend.
 *
 *   rx_burst -> headers read -> VLAN -> source learned -> destination looked up
 *            -> grouped by output port -> tx_forward, the only copy -> rx_release
 *
 * Who owns what:
 *   the control thread  attaches and detaches ports. It makes a new view of them,
 *                       and waits until every polling thread has seen it.
 *   polling threads     each receives from its own ports, and sends to all. With
 *                       more than one a port is sent to under its lock.
 *   the keeper          a thread that sleeps: it moves the coarse clock and forgets old
 *                       addresses.
 *
 * What a port does not take at once is dropped and counted: a queue would only add
 * latency. For every port: received = forwarded + flooded + what was dropped, by
 * reason, of what it received.
 */
#ifndef NINES_SWITCH_H
#define NINES_SWITCH_H

#include "port/port.h"
#include "stats/gaps.h"
#include "switch/limit.h"
#include "switch/mac_table.h"
#include "switch/mirror.h"
#include "switch/vlan.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	SWITCH_PORTS_MAX = 64,
	SWITCH_THREADS_MAX = 16,
	SWITCH_STATIC_MAX = 64, /* addresses given with a port */
	SWITCH_FRAME_MAX = 9216,
	SWITCH_MACS = 16384,
};

#define SWITCH_AGEING_NS UINT64_C(300000000000) /* as 802.1D recommends */

/* Why a received packet went nowhere. */
enum switch_drop {
	SWITCH_VLAN_DENIED, /* its VLAN is not the port's */
	SWITCH_LINK_LOCAL, /* 01:80:c2:00:00:0x stays on its link (802.1D, 7.12.6) */
	SWITCH_BAD_SOURCE, /* a group address */
	SWITCH_SAME_PORT, /* its destination is where it came from */
	SWITCH_FLOOD_LIMIT,
	SWITCH_BROADCAST_LIMIT,
	SWITCH_NO_MEMBER, /* to be flooded, but no other port is there */
	SWITCH_TX_FULL, /* the port that it was for did not take it */
	SWITCH_TX_TOO_LONG, /* nor ever will */
	SWITCH_NO_PEER, /* nobody is at the port that it was for */
	SWITCH_DROPS,
};

extern const char *const switch_drop_names[SWITCH_DROPS];

struct switch_port_config {
	uint16_t vlan;
	bool trunk[VLAN_MAX + 1];
	uint8_t macs[SWITCH_STATIC_MAX][6];
	unsigned mac_count;
	uint64_t flood_upps, broadcast_upps; /* millionths of a packet a second; 0: no limit */
};

struct switch_port {
	struct port *port;
	unsigned index, thread;
	struct switch_port_config config;
	struct vlan_port vlan;
	_Atomic(struct mirror *) mirror; /* NULL: none */

	/* The thread's that receives from it. */
	struct {
		_Alignas(64) uint64_t packets;
		uint64_t bytes, bursts, forwarded, flooded, macs_full;
		uint64_t drops[SWITCH_DROPS];
		struct limit flood, broadcast;
	} rx;

	/* Whoever sends, under the lock if there are several threads. */
	struct {
		_Alignas(64) pthread_spinlock_t lock;
		uint64_t packets, bytes, bursts, lost;
	} tx;
};

/* What polling threads see of the ports; never changed, only replaced. */
struct switch_view {
	struct switch_port *ports[SWITCH_PORTS_MAX]; /* by index, with gaps */
	unsigned order[SWITCH_PORTS_MAX], count; /* the indices that are there */
};

struct switch_thread {
	struct switch_ *owner;
	pthread_t thread;
	unsigned number;
	int cpu, tid;
	uint64_t start_ticks;
	_Alignas(64) _Atomic uint64_t turns;
	struct gaps gaps;
	uint8_t *rewritten; /* PORT_BURST frames with a changed tag */
};

struct switch_config {
	int cpus[SWITCH_THREADS_MAX];
	unsigned cpu_count; /* 0: one thread that is not pinned */
	uint64_t ageing_ns; /* 0: never */
	uint32_t macs;
};

struct switch_ {
	struct switch_config config;
	struct mac_table table;
	_Atomic(struct switch_view *) view;
	_Atomic uint32_t now; /* the coarse clock */
	atomic_bool stop;
	unsigned thread_count;
	struct switch_thread threads[SWITCH_THREADS_MAX];
	pthread_t keeper;
	int keeper_stop_fd;
};

/* Starts polling, with no port yet. -errno with a message. */
int switch_start(struct switch_ **out, const struct switch_config *config, char *error,
		 size_t size);

/* Stops all threads. What was attached is the caller's again. */
void switch_stop(struct switch_ *s);
void switch_free(struct switch_ *s);

/* Joins an open port. -errno with a message: -EEXIST, -ENOSPC, -EINVAL. */
int switch_attach(struct switch_ *s, struct port *port, const struct switch_port_config *config,
		  char *error, size_t size);

/* Takes a port out; no thread uses it when this returns. -ENOENT. */
int switch_detach(struct switch_ *s, const struct port *port);

/* Copies a port's packets to a file from now on, as the mirror `id`. -errno with a
 * message: -EBUSY when the port has a mirror, or another writes to the file. */
int switch_mirror(struct switch_port *p, const struct mirror_config *config, uint64_t *id,
		  char *error, size_t size);

/* Ends a port's mirror, if it is that one; id 0: whichever it has, if any. -ECANCELED when
 * that one is not there any more. */
int switch_end_mirror(struct switch_ *s, struct switch_port *p, uint64_t id,
		      struct mirror_counts *ended);

/* The port's place in the switch, or NULL. */
struct switch_port *switch_find(struct switch_ *s, const struct port *port);

/* The polling thread's. */
void *switch_poll(void *arg);

/* What a polling thread works with; free() it. NULL without memory. */
struct switch_turn *switch_turn_new(struct switch_thread *thread);

/* One look at all of the thread's ports: how many packets there were. */
unsigned switch_turn_run(struct switch_turn *t);

#endif
