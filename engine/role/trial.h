/*
 * trial: one measured run of traffic, of one stream or several: generate, sink, or loop (both in one
 * thread).
 *
 *   control thread                         measuring thread (pinned to a CPU)
 *   trial_new: allocates, prefaults
 *   trial_start ------------------------>  sender_step / receiver_step, sleeps
 *     trial_ask, trial_end: flags            per packet: no allocation, lock, or
 *     trial_progress: relaxed reads          system call except the backend's
 *   trial_join  <------------------------  done_fd
 *   trial_report, trial_free
 *
 * A stream sends by an outlet and arrives at an inlet, one for each port. Streams may share both: a
 * packet carries the place of its stream in the list.
 */
#ifndef NINES_TRIAL_H
#define NINES_TRIAL_H

#include "clock/clock.h"
#include "packet/frame.h"
#include "packet/signatures.h"
#include "port/port.h"
#include "role/schedule.h"
#include "role/thread.h"
#include "stats/arrivals.h"
#include "stats/blocks.h"
#include "stats/gaps.h"
#include "stats/histogram.h"
#include "stats/interruptions.h"
#include "stats/notices.h"
#include "stats/rate.h"
#include "stats/recorder.h"
#include "stats/sample.h"
#include "stats/seen.h"
#include "stats/worst.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	TRIAL_NOTES_MAX = 8,
	TRIAL_FILE_MAX = 4096,
	/* A histogram of 216 kB each, so 54 MiB. */
	TRIAL_STREAMS_MAX = 256,
	TRIAL_PORTS_MAX = THREAD_PORTS_MAX,
	TRIAL_PAUSES_MAX = 64,
};

/* What a running trial is asked to do. */
enum trial_order {
	TRIAL_GO,
	TRIAL_PAUSE, /* send nothing, and have the schedule wait: no packet is late by it */
	TRIAL_FINISH, /* send nothing that is due later, and end as if that were the schedule's end */
	TRIAL_ABORT, /* end at once */
};

/* A time in which nothing was due. */
struct trial_pause {
	uint64_t at_ticks, length_ticks;
	uint64_t due_ns; /* in the schedule, of the first packet that waited */
};

struct stream_config {
	char name[PORT_NAME_MAX];
	struct port *tx, *rx; /* NULL if the role has none */
	struct schedule_config schedule;
};

struct trial_config {
	char role[16];
	const struct stream_config *streams; /* copied by trial_new */
	unsigned stream_count;
	int cpu; /* -1: not pinned */
	uint64_t warmup_ns, duration_ns, drain_ns, start_ns;
	/* The ticks of a sender on another machine, in this machine's CLOCK_MONOTONIC; used where
	 * foreign is set. Only its base and ns_per_tick are. */
	struct clock_scale sender_scale;
	bool foreign;
	/* Its packets only look for a path: those who read captures leave them out. */
	bool probe;
	uint32_t outliers;
	uint32_t ordinary; /* packets picked at random */
	uint32_t notices; /* room for this many announcements; 0: none */
	/* Files for a record of each packet of a single stream, as in recorder_config; empty: none. */
	char record_sent[TRIAL_FILE_MAX], record_received[TRIAL_FILE_MAX];
	char arrivals[TRIAL_FILE_MAX]; /* a file in memory, as in arrivals_config; empty: none */
};

/* One of the trial's ports. */
struct trial_port {
	struct port *port;
	unsigned directions;
	unsigned notes; /* how many it had before */
};

/* A port that sends, with the packets that were acquired from it and that it has not taken yet: they
 * are all of one stream. */
struct outlet {
	struct port *port;
	struct frame_template template;
	struct packet held[PORT_BURST];
	uint64_t held_due[PORT_BURST];
	unsigned held_from, held_count;
	uint32_t held_id; /* of the first one held */
	bool held_measured;
	struct stream *holder; /* whose they are */
};

/* A port that receives. */
struct inlet {
	struct port *port;
	uint64_t look_ticks; /* when the last look began, without the sleep since */
	uint64_t *foreign; /* counts frames on a device that are no packets; else NULL */
	bool frames; /* the buffers have the headers */
	bool ways_seen; /* if not, `ways` is empty */
	char ways_unseen[192]; /* why not, or why only as in message_ways.h; empty: all were seen */
	struct ways ways; /* of measured packets, also of duplicates */
};

/* Owned by the measuring thread. */
struct stream {
	/* The sending half. */
	struct outlet *outlet; /* NULL: none */
	struct schedule schedule;
	uint64_t phase_ticks; /* start of the current phase */
	uint64_t phase_ns; /* its length */
	uint64_t due_ticks; /* of the next packet; UINT64_MAX: all are sent */
	bool measured; /* the phase; else the warm-up */
	uint16_t number;
	uint8_t flags; /* in all of its packets */
	uint32_t id, flow; /* of the next packet */
	uint64_t last_tx_ticks; /* of the measured packets; 0 before the first */
	uint64_t sent, failed; /* measured packets */
	/* The receiving half. */
	struct inlet *inlet; /* NULL: none */
	struct seen seen;
	uint64_t warmup; /* packets that came */
	uint64_t early; /* received before they were sent, according to the clocks */
	struct histogram *latency; /* NULL for a single stream: all latencies are its */
	uint64_t intended; /* set at the end */
	/* Up to where its lost packets are listed. */
	struct schedule listed;
	uint64_t listed_id, listed_untold;
	struct stream_config config;
};

/* The sending of all streams; owned by the measuring thread. */
struct sender {
	/* A heap: the stream whose packet is due first is at the top. */
	struct stream **order;
	unsigned active; /* streams that have packets left */
	unsigned holding; /* outlets that hold packets */
	bool done;
	uint64_t stop_ticks; /* hard stop: nothing is sent after it */
	uint64_t newest_ticks; /* of any phase: the stamp of the last packet that left */
	struct histogram send_lag, spacing; /* spacing: between packets of one stream */
	struct rate_counter offered, sent;
	struct recorder *recorder; /* NULL: none */
};

/* The receiving of all streams; owned by the measuring thread. */
struct receiver {
	uint64_t begin_ticks; /* earlier stamps are from an earlier trial */
	uint64_t newest_ticks; /* the stamp of the last packet that came */
	uint64_t unique, invalid;
	struct worst worst;
	struct sample sample;
	struct notices *notices; /* NULL: none */
	struct blocks blocks; /* of the latency */
	struct histogram latency; /* their sum, when the trial has ended */
	struct histogram from_tx, send_lag;
	struct rate_counter received;
	struct recorder *recorder; /* NULL: none */
	struct arrivals *arrivals; /* NULL: none */
};

struct trial {
	struct trial_config config;
	struct clock_scale scale; /* at the start */
	struct clock_scale scale_end; /* of the whole trial */
	struct clock_point end_point;
	uint64_t max_error_ns;
	uint64_t start_ns, measured_start_ns;
	uint64_t start_ticks, measured_ticks, measured_end_ticks, drain_end_ticks, end_ticks;
	struct stream *streams;
	unsigned stream_count;
	struct outlet *outlets;
	unsigned outlet_count; /* 0: the trial only receives */
	struct inlet inlets[TRIAL_PORTS_MAX];
	unsigned inlet_count; /* 0: it only sends */
	struct trial_port ports[TRIAL_PORTS_MAX];
	unsigned port_count;
	struct sender sender;
	struct receiver receiver;
	struct gaps gaps;
	struct interruptions *interruptions;
	struct trial_pause pauses[TRIAL_PAUSES_MAX];
	unsigned pause_count;
	uint64_t finished_ns; /* of the schedule, when it was asked to finish; 0: it was not */
	uint32_t seconds;
	uint8_t measured_flags; /* in the measured packets, besides */
	uint64_t *rates; /* offered, sent, received: `seconds` each */
	struct thread_runs runs;
	uint64_t waited_ns; /* of the runs' delay: for other work, see waits.h */
	bool interrupted;
	int tid, cpu_ran;
	char scheduling[32]; /* of the measuring thread */
	/* Of the requested recordings; set when they have ended. */
	struct recorder_outcome recorded_sent, recorded_received;
	struct arrivals_header arrived; /* of the arrivals, when they have ended */
	char notes[TRIAL_NOTES_MAX][160];
	unsigned note_count;

	pthread_t thread;
	bool thread_started;
	int stop_fd, done_fd; /* eventfds: to the thread, from the thread */
	_Atomic unsigned asked; /* an enum trial_order */
	unsigned pauses_asked; /* the control thread's */
	atomic_bool begun, ended;
	_Atomic uint64_t expect; /* packets that a sink expects; UINT64_MAX: unknown */
	/* For progress; written once per turn. */
	_Atomic uint64_t shown_sent, shown_received;
	_Atomic uint64_t paused_ns; /* in all */
};

/* Each stream has both halves or the same one; see trial_config. -errno with a message. */
int trial_new(const struct trial_config *config, struct trial **out, char *error, size_t size);
int trial_start(struct trial *t, char *error, size_t size);
/* Later orders replace earlier ones, but none an abort, or a finish by a pause: -EALREADY. -EMFILE: it
 * has paused too often. */
int trial_ask(struct trial *t, enum trial_order order);
void trial_expect(struct trial *t, uint64_t packets);
void trial_join(struct trial *t);
void trial_free(struct trial *t);
void trial_note(struct trial *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets the trial's streams and ports up from its config, and frees them; -ENOMEM. See streams.c. */
int streams_init(struct trial *t);
void streams_free(struct trial *t);
/* How many ids a stream needs at most; 0: unknown. */
uint64_t stream_ids(const struct stream_config *c, uint64_t duration_ns);

/* Pauses and the early end; see breaks.c. Whether all streams are past their warm-up: */
bool trial_measures(const struct trial *t, uint64_t now);
/* Ends a pause that began at `from`. */
void trial_resume(struct trial *t, uint64_t from, uint64_t now);
void trial_finish(struct trial *t, uint64_t now);
/* How long the pauses were that a packet waited for, by its time in the schedule. */
uint64_t trial_paused_ns(const struct trial *t, uint64_t due_ns);

/* Adds the packets to the arrivals that were sent and did not arrive: those since it was last called, or
 * `again` all of them, as some may have come since. See lost.c. */
void trial_list_lost(struct trial *t, bool again);

/* The measuring thread's body; see loop.c. */
void *trial_loop(void *trial);

/* Sends due packets of one stream, at most a burst; returns the number taken. See sender.c. */
void sender_begin(struct trial *t);
unsigned sender_step(struct trial *t, uint64_t now);
/* When the next packet is due. */
static inline uint64_t sender_due(const struct trial *t)
{
	return t->sender.order[0]->due_ticks;
}
/* Moves all that is to come by the length of a pause. */
void sender_shift(struct trial *t, uint64_t ticks);
/* Ends the schedules now. */
void sender_cut(struct trial *t, uint64_t now);
/* Releases the packets that ports did not take. */
void sender_end(struct trial *t);
/* Called after the end: counts packets that were never sent as offered in the second they were
 * due. */
void sender_offer_rest(struct trial *t);
/* The number of packets in a stream's whole schedule. */
uint64_t sender_intended(const struct trial *t, const struct stream *m);

/* Looks once at a port, from `begun` on, and receives at most a burst; returns the number received.
 * See receiver.c. */
unsigned receiver_step(struct trial *t, struct inlet *inlet, uint64_t begun);

#endif
