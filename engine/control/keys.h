/*
 * keys: the keys of each command, their possible values, and where these go in a struct command.
 * command.c checks what depends on more than one key.
 */
#ifndef NINES_KEYS_H
#define NINES_KEYS_H

#include "control/field.h"

enum { CPU_MAX = 4095 };

/* In the order of the enums command_role and command_trial_role; NULL-terminated. */
extern const char *const serve_roles[], *const trial_roles[];

extern const struct field no_fields[];
extern const struct field close_fields[];
extern const struct field open_fields[];
extern const struct field dpdk_fields[];
extern const struct field switch_fields[];
extern const struct field watch_fields[];
extern const struct field attach_fields[];
extern const struct field mirror_fields[];
extern const struct field cut_fields[];
extern const struct field interruptions_fields[];
extern const struct field serve_fields[];
extern const struct field trial_fields[];
extern const struct field stream_fields[]; /* of a struct command_stream */
extern const struct field end_fields[];

#endif
