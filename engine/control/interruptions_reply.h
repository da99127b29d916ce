/* interruptions_reply: what is said of lists of interruptions; the lists themselves are bulk data. */
#ifndef NINES_INTERRUPTIONS_REPLY_H
#define NINES_INTERRUPTIONS_REPLY_H

#include "role/service.h"
#include "role/trial.h"
#include "stats/interruptions.h"
#include "switch/switch.h"

#include <jansson.h>

/* What a list has, and what it leaves out, by kind of turn. */
json_t *reply_interruptions(const struct interruptions *l, const struct gaps *g,
			    const struct clock_scale *scale);

/* Answers the command for what runs: begins lists if room is not 0, else reads them. */
json_t *interruptions_of_service(struct service *s, uint32_t room);
json_t *interruptions_of_switch(struct switch_ *s, uint32_t room);

/* What a trial that runs has listed so far; its answer has all. */
json_t *interruptions_of_trial(const struct trial *t);

#endif
