/* refusal: what the error number of a system call tells, beyond its name. Something that has run
 * out, or that is forbidden, is not a missing feature of the kernel or the interface. */
#ifndef NINES_REFUSAL_H
#define NINES_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

/* Whether files, memory, room or processes have run out. */
bool refusal_exhausted(int err);

/* The remedy for what has run out. If it was refused, the capability that it needs (capabilities(7);
 * a negative one: none), or what else can forbid it to a thread that has this. NULL if the error's
 * name says all. */
const char *refusal_reason(int err, int capability);

/* Writes an error's text, with the reason in brackets; the caller adds the error's name. */
void refusal_say(char *error, size_t size, int err, int capability, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

#endif
