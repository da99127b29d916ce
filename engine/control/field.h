/* field: the values that a key of a command may have, and where they go in a struct. */
#ifndef NINES_FIELD_H
#define NINES_FIELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_type {
	FIELD_STRING, /* char[max + 1] */
	FIELD_UINT, /* of `width` bytes */
	FIELD_INT, /* int32_t */
	FIELD_RATE, /* packets per second, stored as millionths in a uint64_t */
	FIELD_CHANCE, /* 0 to 1, a double */
	FIELD_MAC, /* uint8_t[6] */
	FIELD_IP, /* struct in6_addr (port/address.h) */
	FIELD_BOOL,
	FIELD_CHOICE, /* an enum of 4 bytes: the place in `choices` */
	FIELD_OBJECT, /* a struct with its own fields */
	FIELD_OTHER, /* checked by the command itself */
};

struct field {
	const char *key; /* NULL ends a table */
	enum field_type type;
	size_t offset;
	int64_t min, max;
	uint8_t width;
	bool required;
	const char *const *choices; /* NULL-terminated */
	const struct field *fields;
	size_t given; /* offset of a bool that says whether it was given; 0: none */
};

/* Fills `into` from an object; keys that no field names are refused. -EINVAL. */
int field_fill(const json_t *object, const struct field *fields, void *into, char *error,
	       size_t size);

/* Six bytes from a text such as 02:00:00:00:00:01. */
bool field_parse_mac(const char *text, uint8_t mac[6]);

#endif
