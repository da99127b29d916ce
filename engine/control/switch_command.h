/* switch_command: the commands of the switch; see engine.h. */
#ifndef NINES_SWITCH_COMMAND_H
#define NINES_SWITCH_COMMAND_H

#include "control/command.h"
#include "switch/switch.h"

#include <jansson.h>

/* Starts the switch; nothing else may be running. */
json_t *switch_command_start(struct switch_ **s, const struct command *c);

/* Stops the switch and clears *s; the answer has its last counters. */
json_t *switch_command_stop(struct switch_ **s);

/* Handles attach, detach, switch_stats, macs, mirror and cut. `port` is the open port that the command
 * names, or NULL. */
json_t *switch_command(struct switch_ *s, struct port *port, const struct command *c);

#endif
