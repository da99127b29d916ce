/*
 * The measuring thread of a trial: sends due packets, receives, and sleeps when there is nothing to
 * do and the ports allow it.
 *
 * A blocking thread really sleeps (on the receiving sockets, until the next intended send, or in a
 * round trip until some time before it), so it measures the latency of a receiver that must be
 * woken. All memory that the loop touches was allocated and faulted in before.
 */
#include "role/order.h"
#include "role/sleeper.h"
#include "role/thread.h"
#include "role/trial.h"
#include "role/waits.h"

#include <inttypes.h>
#include <unistd.h>

enum {
	/* How long to wait for duplicates after all packets have arrived. */
	LINGER_MAX_NS = 20000000,
	/* A sleeping thread wakes at least this often, to check the time. */
	SLEEP_MAX_NS = 100000000,
	/* How long to wait for room in a port that took nothing: one that tells when it has some,
	 * and one that does not, whose ring of 256 packets may be empty by then at 5 Mpps. */
	FULL_SLEEP_NS = 1000000,
	FULL_LOOK_NS = 50000,
	/* How often a thread looks for packets while the trial pauses. */
	PAUSE_LOOK_MS = 1,
	/* How long before a packet of a round trip its thread is awake: longer than an idle CPU
	 * usually takes to come back. From one that has just come back a packet leaves more slowly:
	 * half a round trip over a bridge took 49 us, and sockperf's, which spins, 37
	 * (docs/reference/performance.md). */
	AWAKE_NS = 50000,
};

struct turn {
	struct trial *t;
	enum port_wait wait;
	struct port *rx_ports[TRIAL_PORTS_MAX];
	unsigned rx_count;
	bool round_trip; /* by a single port */
	struct sleeper sleeper;
	struct waits waits;
	struct order order; /* of the inlets of a duet */
	uint64_t linger_ticks;
	uint64_t active_ticks; /* of the last packet */
	bool drain_set;
	bool woken; /* a port ended the last sleep */
};

static uint64_t linger_ns(const struct trial *t)
{
	return t->config.drain_ns < LINGER_MAX_NS ? t->config.drain_ns : LINGER_MAX_NS;
}

/* Whether the trial is over; also sets deadlines as they become known. */
static bool finished(struct turn *turn, uint64_t now)
{
	struct trial *t = turn->t;
	bool sends = t->outlet_count > 0;
	if (sends && !t->sender.done)
		return false;
	if (t->inlet_count == 0)
		return true;
	uint64_t expect = atomic_load_explicit(&t->expect, memory_order_relaxed);
	if (sends) {
		expect = t->sender.send_lag.count;
		if (!turn->drain_set) {
			t->drain_end_ticks = now + clock_ns_to_ticks(&t->scale, t->config.drain_ns);
			turn->drain_set = true;
		}
	}
	if (now >= t->drain_end_ticks)
		return true;
	if (t->receiver.unique < expect)
		return false;
	if (!turn->linger_ticks) {
		turn->linger_ticks = now + clock_ns_to_ticks(&t->scale, linger_ns(t));
	}
	return now >= turn->linger_ticks;
}

/* The moment from which the thread is awake for the next packet. One that blocks sleeps until the
 * packet is due. In a round trip it is a client, for which only the wait for the answer counts: it
 * sleeps while one is out, and is awake some time before it sends the next packet. */
static uint64_t awake_from(const struct turn *turn)
{
	const struct trial *t = turn->t;
	uint64_t due = sender_due(t), early = clock_ns_to_ticks(&t->scale, AWAKE_NS);
	bool out = t->receiver.newest_ticks < t->sender.newest_ticks;
	if (turn->wait != PORT_BLOCK || !turn->round_trip || out || due < early)
		return due;
	return due - early;
}

/* The port that holds packets back for lack of room, to wait for; NULL: none, or several. */
static struct port *full_port(const struct trial *t)
{
	if (t->sender.holding != 1)
		return NULL;
	unsigned i = 0;
	while (t->outlets[i].held_count == 0)
		i++;
	return t->outlets[i].port;
}

static uint64_t full_ticks(const struct trial *t, struct port *full)
{
	struct pollfd fds[PORT_POLLFDS_MAX];
	bool tells = false;
	for (unsigned n = full ? full->ops->pollfds(full, fds, true) : 0; n > 0;)
		tells |= fds[--n].events & POLLOUT;
	return clock_ns_to_ticks(&t->scale, tells ? FULL_SLEEP_NS : FULL_LOOK_NS);
}

/* The moment until which there is nothing to do but receive. */
static uint64_t idle_until(const struct turn *turn, uint64_t now)
{
	const struct trial *t = turn->t;
	const struct sender *s = &t->sender;
	uint64_t until = now + clock_ns_to_ticks(&t->scale, SLEEP_MAX_NS);
	uint64_t next = until;
	if (t->outlet_count > 0 && !s->done)
		next = s->holding ? now + full_ticks(t, full_port(t)) : awake_from(turn);
	else if (t->inlet_count > 0)
		next = turn->linger_ticks ? turn->linger_ticks : t->drain_end_ticks;
	return next < until ? next : until;
}

/* Sleeps until a packet comes or the port has room. */
static int sleep_for_room(const struct turn *turn, struct port *full, uint64_t timeout_ns)
{
	struct port *ports[TRIAL_PORTS_MAX];
	unsigned count = turn->rx_count;
	bool receives = false;
	for (unsigned i = 0; i < count; i++) {
		ports[i] = turn->rx_ports[i];
		receives |= ports[i] == full;
	}
	if (full && !receives)
		ports[count++] = full;
	return thread_sleep(ports, count, full, turn->t->stop_fd, timeout_ns);
}

static void sleep_idle(struct turn *turn, uint64_t now)
{
	struct trial *t = turn->t;
	uint64_t until = idle_until(turn, now);
	if (turn->wait == PORT_SPIN)
		return;
	if (until <= now) {
		sleeper_stay_awake(&turn->sleeper);
		return;
	}
	struct port *full = full_port(t);
	/* One that polls does so for a fixed time, so it is not used if a packet is due before that
	 * ends. */
	bool sleeper = !t->sender.holding &&
		       (turn->wait == PORT_BLOCK ||
			until - now > clock_ns_to_ticks(&t->scale, 2 * THREAD_BUSY_POLL_NS));
	if (turn->wait == PORT_BUSY_POLL && !(sleeper && sleeper_polls(&turn->sleeper)) &&
	    now - turn->active_ticks < clock_ns_to_ticks(&t->scale, THREAD_BUSY_POLL_NS))
		return;
	waits_look(&turn->waits, now);
	uint64_t timeout_ns = clock_ticks_to_ns(&t->scale, until - now);
	uint64_t slept_from = clock_ticks();
	int ready = sleeper ? sleeper_sleep(&turn->sleeper, timeout_ns)
			    : sleep_for_room(turn, full, timeout_ns);
	turn->woken = ready > 0;
	now = clock_ticks();
	if (ready == 0 && !t->sender.holding)
		gaps_woken(&t->gaps, until, now);
	gaps_begin(&t->gaps, now);
	/* During the sleep the kernel looked in its place. But a packet that the look before it
	 * missed ends the sleep at once, so that look's time still counts. */
	for (unsigned i = 0; i < t->inlet_count; i++)
		t->inlets[i].look_ticks += now - slept_from;
}

/* Whether another look will most likely find nothing, so a sleeping sink may sleep at once: a burst
 * that came short left nothing behind. */
static bool emptied(const struct turn *turn, unsigned received)
{
	const struct trial *t = turn->t;
	return turn->wait == PORT_BLOCK && t->outlet_count == 0 && t->inlet_count == 1 &&
	       received < t->inlets[0].port->burst;
}

static void show(struct trial *t)
{
	atomic_store_explicit(&t->shown_sent, t->sender.send_lag.count, memory_order_relaxed);
	atomic_store_explicit(&t->shown_received, t->receiver.unique, memory_order_relaxed);
}

static struct turn first_turn(struct trial *t)
{
	struct port *ports[TRIAL_PORTS_MAX];
	struct turn turn = {
		.t = t,
		.rx_count = t->inlet_count,
		.round_trip = t->port_count == 1 && t->inlet_count == 1 && t->outlet_count == 1,
	};
	for (unsigned i = 0; i < t->port_count; i++)
		ports[i] = t->ports[i].port;
	for (unsigned i = 0; i < t->inlet_count; i++)
		turn.rx_ports[i] = t->inlets[i].port;
	turn.wait = thread_wait(ports, t->port_count);
	if (t->streams[0].config.schedule.side != SCHEDULE_ALONE && t->inlet_count == 2)
		turn.order = order_of(2, t->start_ticks);
	return turn;
}

/* Looks once at each port; the first look begins now. */
static unsigned receive(struct turn *turn, uint64_t now)
{
	struct trial *t = turn->t;
	if (turn->order.count > 1) {
		order_draw(&turn->order);
		unsigned received = receiver_step(t, &t->inlets[turn->order.places[0]], now);
		return received +
		       receiver_step(t, &t->inlets[turn->order.places[1]], clock_ticks());
	}
	unsigned received = receiver_step(t, &t->inlets[0], now);
	for (unsigned i = 1; i < t->inlet_count; i++)
		received += receiver_step(t, &t->inlets[i], clock_ticks());
	return received;
}

/* Reads what woke the thread, or it would never sleep again. */
static void take_order(const struct trial *t)
{
	uint64_t times;
	if (read(t->stop_fd, &times, sizeof times) < 0)
		return; /* it was awake */
}

static void rest(const struct turn *turn)
{
	struct pollfd fd = {.fd = turn->t->stop_fd, .events = POLLIN};
	poll(&fd, 1, PAUSE_LOOK_MS);
}

/* Sends nothing until it is asked for something else. What was under way arrives as ever; then the
 * thread leaves its CPU to others, but for a look now and then for what comes much later. */
static void pause_trial(struct turn *turn)
{
	struct trial *t = turn->t;
	struct arrivals *arrivals = t->receiver.arrivals;
	uint64_t from = clock_ticks(), now = from;
	uint64_t patience = from + clock_ns_to_ticks(&t->scale, linger_ns(t));
	bool resting = false;
	waits_read(&turn->waits);
	while (atomic_load(&t->asked) == TRIAL_PAUSE) {
		if (t->inlet_count > 0)
			receive(turn, now);
		/* A sink does not know what is under way. */
		bool all = t->inlet_count == 0 ||
			   (t->outlet_count > 0 && t->receiver.unique >= t->sender.send_lag.count);
		if (!resting && (all || now >= patience)) {
			resting = true;
			if (arrivals) {
				trial_list_lost(t, t->pause_count == 0);
				arrivals_tell(arrivals, ARRIVALS_PAUSED);
			}
		}
		show(t);
		if (resting)
			rest(turn);
		take_order(t);
		now = clock_ticks();
	}
	waits_skip(&turn->waits);
	trial_resume(t, from, now);
	/* Nothing is due between the pause and its end. */
	if (atomic_load(&t->asked) == TRIAL_FINISH)
		trial_finish(t, now);
	if (arrivals)
		arrivals_tell(arrivals, ARRIVALS_RUNNING);
	gaps_begin(&t->gaps, now);
}

/* Does what the control thread asks for; false: the trial ends at once. */
static bool obey(struct turn *turn, unsigned asked)
{
	struct trial *t = turn->t;
	uint64_t now = clock_ticks();
	take_order(t);
	/* A warm-up does not pause, and has nothing to tell. */
	if (asked == TRIAL_ABORT || (asked == TRIAL_FINISH && now < t->measured_ticks))
		return false;
	if (!trial_measures(t, now))
		return true;
	if (asked == TRIAL_PAUSE)
		pause_trial(turn);
	else if (!t->finished_ns)
		trial_finish(t, now);
	return true;
}

void *trial_loop(void *arg)
{
	struct trial *t = arg;
	struct turn turn = first_turn(t);
	uint64_t one = 1;
	int awake = -1;
	t->tid = thread_begin("nines-measure");
	if (turn.wait == PORT_SPIN) {
		awake = thread_hold_awake();
		if (awake < 0)
			trial_note(t, "/dev/cpu_dma_latency is not held: CPUs may sleep deeply");
	}
	thread_scheduling(t->scheduling, sizeof t->scheduling);
	sleeper_open(&turn.sleeper, turn.rx_ports, turn.rx_count, t->stop_fd, t->outlet_count > 0);
	waits_begin(&turn.waits, &t->scale);
	atomic_store(&t->begun, true);
	if (write(t->done_fd, &one, sizeof one) < 0)
		trial_note(t, "eventfd refused a write");
	uint64_t now = clock_ticks();
	gaps_begin(&t->gaps, now);
	for (unsigned i = 0; i < t->inlet_count; i++)
		t->inlets[i].look_ticks = now;
	for (;;) {
		unsigned received = 0, sent = 0;
		unsigned asked = atomic_load_explicit(&t->asked, memory_order_relaxed);
		if (__builtin_expect(asked != TRIAL_GO, 0)) {
			t->interrupted = !obey(&turn, asked);
			now = clock_ticks();
			if (t->interrupted) {
				gaps_leave(&t->gaps, now);
				break;
			}
		}
		/* What woke the thread has arrived: it is received before the next packet is sent,
		 * which takes microseconds. */
		if (turn.woken && t->outlet_count > 0 && t->inlet_count > 0) {
			received += receive(&turn, now);
			now = clock_ticks();
		}
		turn.woken = false;
		if (t->outlet_count > 0 && !t->sender.done)
			sent = sender_step(t, now);
		if (t->inlet_count > 0)
			received += receive(&turn, sent ? clock_ticks() : now);
		now = clock_ticks();
		gaps_turn(&t->gaps, now, received, sent);
		if (received || sent) {
			turn.active_ticks = now;
			show(t);
			if (!emptied(&turn, received))
				continue;
		}
		if (finished(&turn, now))
			break;
		sleep_idle(&turn, now);
		now = clock_ticks();
	}
	t->end_ticks = clock_ticks();
	t->runs = waits_end(&turn.waits);
	t->waited_ns = turn.waits.waited_ns;
	uint32_t cpu;
	clock_ticks_on(&cpu);
	t->cpu_ran = (int)cpu;
	sender_end(t);
	if (turn.sleeper.polls > 0)
		trial_note(t, "waited %" PRIu64 " times by epoll, which polled the device first",
			   turn.sleeper.polls);
	sleeper_close(&turn.sleeper);
	if (awake >= 0)
		close(awake);
	atomic_store(&t->ended, true);
	if (write(t->done_fd, &one, sizeof one) < 0)
		trial_note(t, "eventfd refused a write");
	return NULL;
}
