/*
 * engine: the open ports and what runs on them: at most one trial, service or switch; or a watch,
 * which has no ports. Belongs to the control thread. Each command returns one answer (a JSON
 * object, owned by the caller); a trial's answer comes when it is done.
 */
#ifndef NINES_ENGINE_H
#define NINES_ENGINE_H

#include "control/command.h"
#include "role/service.h"
#include "role/trial.h"
#include "role/watch.h"

#include <jansson.h>

enum { PROTOCOL_VERSION = 2, ENGINE_PORTS_MAX = TRIAL_PORTS_MAX };

struct engine {
	struct switch_ *switch_;
	struct port *ports[ENGINE_PORTS_MAX];
	unsigned port_count;
	struct trial *trial;
	struct service *service;
	struct watch *watch;
	bool started_told;
	unsigned seconds_told;
	uint64_t offered_told, sent_told, received_told;
	char notes[2][160];
	unsigned note_count;
};

/* The answer, or NULL for a trial that is now running. */
json_t *engine_command(struct engine *e, const struct command *c);

/* Poll this for reading while a trial runs; -1 if none runs. */
int engine_event_fd(const struct engine *e);

/* Call when the descriptor is readable or a second has passed, until it returns NULL: returns an
 * event or the trial's answer. */
json_t *engine_event(struct engine *e);

/* When the next progress is due, CLOCK_MONOTONIC ns; 0: never. */
uint64_t engine_next_progress_ns(const struct engine *e);

/* Lets ports that no thread polls look for peers that they have lost. True if there are such ports: call
 * again soon, as a peer may leave without a word. */
bool engine_look_for_peers(struct engine *e);

/* Asks a running trial to end; engine_event still returns its answer. */
void engine_interrupt(struct engine *e);

/* Stops and closes everything. */
void engine_close(struct engine *e);

#endif
