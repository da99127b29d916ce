/* reply: results as JSON, in the forms of docs/reference/engine-protocol.md. */
#ifndef NINES_REPLY_H
#define NINES_REPLY_H

#include "clock/wall.h"
#include "role/service.h"
#include "role/trial.h"
#include "role/watch.h"

#include <jansson.h>

/* The answer to an accepted command. */
json_t *reply_accepted(const char *command);
/* The answer that refuses a command, with the reason; err 0 leaves errno out. */
json_t *reply_refusal(const char *command, int err, const char *why);
/* The event that a trial's thread is about to begin. */
json_t *reply_started(const struct trial *t);
json_t *reply_trial(const struct trial *t);
json_t *reply_service(const struct service *s);
json_t *reply_histogram(const struct histogram *h);
json_t *reply_gaps(const struct gaps *g, const struct clock_scale *scale, uint64_t from_ticks);
/* Bulk data, which it frees, as text; null if there is none, for lack of memory. */
json_t *reply_bulk(uint8_t *data, size_t size);
json_t *reply_port(const struct port *p);
json_t *reply_tsc(void);
json_t *reply_clock(const struct clock_wall *w);
json_t *reply_watch(const struct watch *w);
/* The rings in which each CPU announces its gaps. */
json_t *reply_watch_notices(const struct watch *w);

#endif
