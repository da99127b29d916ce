/*
 * switch: a learning Ethernet switch between ports of any backend.
 *
 *   rx_burst -> headers read -> VLAN -> source learned -> destination looked up
 *            -> grouped by output port -> tx_forward, the only copy -> rx_release
 *
 * Who owns what:
 *   the control thread  attaches and detaches ports. It makes a new view of them,
 *                       and waits until every polling thread has seen it.
 *   polling threads     each receives from its own ports and sends to all. With
 *                       several threads, sending to a port takes its lock.
 *   the keeper          a sleeping thread that advances the coarse clock and removes old
 *                       addresses.
 *
 * Packets that a port does not take at once are dropped and counted: a queue would only add
 * latency. For every port that is not impaired: received = forwarded + flooded + dropped (by reason), counted at the
 * port that received them.
 *
 * What an impaired port receives goes through its impairment (impair.h) before its VLAN is looked
 * at, so packets may wait: received + duplicated = forwarded + flooded + dropped + waiting.
 * A port that is cut drops what it receives, and what is for it.
 */
#ifndef NINES_SWITCH_H
#define NINES_SWITCH_H

#include "port/port.h"
#include "stats/gaps.h"
#include "stats/interruptions.h"
#include "switch/impair.h"
#include "switch/limit.h"
#include "switch/mac_table.h"
#include "switch/mirror.h"
#include "switch/vlan.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	SWITCH_PORTS_MAX = 64,
	SWITCH_THREADS_MAX = 16,
	SWITCH_STATIC_MAX = 64, /* addresses configured with a port */
	SWITCH_FRAME_MAX = 9216,
	SWITCH_MACS = 16384,
};

#define SWITCH_AGEING_NS UINT64_C(300000000000) /* as 802.1D recommends */

/* Why a received packet was dropped. */
enum switch_drop {
	SWITCH_VLAN_DENIED, /* its VLAN is not allowed on the port */
	SWITCH_LINK_LOCAL, /* 01:80:c2:00:00:0x stays on its link (802.1D, 7.12.6) */
	SWITCH_BAD_SOURCE, /* a group address */
	SWITCH_SAME_PORT, /* its destination is at the port it came from */
	SWITCH_FLOOD_LIMIT,
	SWITCH_BROADCAST_LIMIT,
	SWITCH_NO_MEMBER, /* flooded, but there is no other port */
	SWITCH_TX_FULL, /* the output port did not take it */
	SWITCH_TX_TOO_LONG, /* the output port never will */
	SWITCH_NO_PEER, /* the output port has no peer */
	SWITCH_IMPAIRED, /* lost deliberately */
	SWITCH_IMPAIR_LIMIT, /* more packets would wait than its impairment may hold */
	SWITCH_CUT, /* its port, or the output port, is cut */
	SWITCH_DROPS,
};

extern const char *const switch_drop_names[SWITCH_DROPS];

struct switch_port_config {
	uint16_t vlan;
	bool trunk[VLAN_MAX + 1];
	uint8_t macs[SWITCH_STATIC_MAX][6];
	unsigned mac_count;
	uint64_t flood_upps, broadcast_upps; /* millionths of a packet per second; 0: no limit */
	struct impair_config impair; /* of what the port receives */
};

struct switch_port {
	struct port *port;
	unsigned index, thread;
	struct switch_port_config config;
	struct vlan_port vlan;
	_Atomic(struct mirror *) mirror; /* NULL: none */
	struct impair *impair; /* NULL: none; its packets are the receiving thread's */
	atomic_bool cut; /* nothing passes, as if its cable were pulled */

	/* Written by the thread that receives from the port. */
	struct {
		_Alignas(64) uint64_t packets;
		uint64_t bytes, bursts, forwarded, flooded, macs_full;
		uint64_t drops[SWITCH_DROPS];
		struct limit flood, broadcast;
	} rx;

	/* Written by the thread that sends, under the lock if there are several threads. */
	struct {
		_Alignas(64) pthread_spinlock_t lock;
		uint64_t packets, bytes, bursts, lost;
	} tx;
};

/* The ports as polling threads see them; never changed, only replaced. */
struct switch_view {
	struct switch_port *ports[SWITCH_PORTS_MAX]; /* by index, with gaps */
	unsigned order[SWITCH_PORTS_MAX], count; /* the indices in use */
};

struct switch_thread {
	struct switch_ *owner;
	pthread_t thread;
	unsigned number;
	int cpu, tid;
	uint64_t start_ticks;
	_Alignas(64) _Atomic uint64_t turns;
	struct gaps gaps;
	struct interruptions *interruptions; /* NULL: it lists none */
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

/* Stops all threads. The caller owns the attached ports again. */
void switch_stop(struct switch_ *s);
void switch_free(struct switch_ *s);

/* Attaches an open port. -errno with a message: -EEXIST, -ENOSPC, -EINVAL. */
int switch_attach(struct switch_ *s, struct port *port, const struct switch_port_config *config,
		  char *error, size_t size);

/* Detaches a port; no thread uses it when this returns. -ENOENT. */
int switch_detach(struct switch_ *s, const struct port *port);

/* Copies a port's packets to a file from now on, as the mirror `id`. -errno with a message: -EBUSY
 * if the port has a mirror, or another mirror writes to the file. */
int switch_mirror(struct switch_port *p, const struct mirror_config *config, uint64_t *id,
		  char *error, size_t size);

/* Ends a port's mirror if it is `id`; id 0: any mirror that it has. -ECANCELED if `id` has already
 * ended. */
int switch_end_mirror(struct switch_ *s, struct switch_port *p, uint64_t id,
		      struct mirror_counts *ended);

/* Has every polling thread list its interruptions from now on, up to `room`, in place of those listed
 * before. -ENOMEM. */
int switch_list(struct switch_ *s, uint32_t room);

/* The switch's data for the port, or NULL. */
struct switch_port *switch_find(struct switch_ *s, const struct port *port);

/* The body of a polling thread. */
void *switch_poll(void *arg);

/* A polling thread's working memory; free() it. NULL if out of memory. */
struct switch_turn *switch_turn_new(struct switch_thread *thread);

/* Polls all of the thread's ports once; returns the number of packets. */
unsigned switch_turn_run(struct switch_turn *t);

#endif
