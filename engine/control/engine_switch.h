/* engine_switch: the commands of the switch; see engine.h. */
#ifndef NINES_ENGINE_SWITCH_H
#define NINES_ENGINE_SWITCH_H

#include "control/engine.h"

/* Nothing else may be running. */
json_t *engine_switch_start(struct engine *e, const struct command *c);

/* Ends the switch; the answer has its last counters. */
json_t *engine_switch_stop(struct engine *e);

/* attach, detach, switch_stats, macs, mirror. */
json_t *engine_switch_command(struct engine *e, const struct command *c);

#endif
