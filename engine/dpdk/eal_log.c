/* Captures DPDK's log; see eal_log.h. */
#include "dpdk/eal_log.h"

#include <errno.h>
#include <pthread.h>
#include <rte_log.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

static struct {
	pthread_mutex_t lock;
	char text[4096]; /* the end of the log */
	size_t used;
} captured = {.lock = PTHREAD_MUTEX_INITIALIZER};

static ssize_t capture(void *cookie, const char *data, size_t length)
{
	size_t take = length < sizeof captured.text ? length : sizeof captured.text;
	(void)cookie;
	pthread_mutex_lock(&captured.lock);
	if (captured.used + take > sizeof captured.text) {
		size_t drop = captured.used + take - sizeof captured.text;
		captured.used -= drop;
		memmove(captured.text, captured.text + drop, captured.used);
	}
	memcpy(captured.text + captured.used, data + length - take, take);
	captured.used += take;
	pthread_mutex_unlock(&captured.lock);
	return (ssize_t)length;
}

int eal_log_capture(void)
{
	static FILE *stream;
	if (stream)
		return 0;
	stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = capture});
	if (!stream)
		return -ENOMEM;
	setvbuf(stream, NULL, _IONBF, 0);
	return rte_openlog_stream(stream);
}

void eal_log_clear(void)
{
	pthread_mutex_lock(&captured.lock);
	captured.used = 0;
	pthread_mutex_unlock(&captured.lock);
}

void eal_log_last(char *text, size_t size, unsigned lines)
{
	size_t from, at = 0;
	pthread_mutex_lock(&captured.lock);
	while (captured.used > 0 && captured.text[captured.used - 1] == '\n')
		captured.used--;
	for (from = captured.used; from > 0; from--)
		if (captured.text[from - 1] == '\n' && --lines == 0)
			break;
	for (; from < captured.used && at + 3 < size; from++) {
		char c = captured.text[from];
		if (c == '\n') {
			text[at++] = ';';
			text[at++] = ' ';
		} else {
			text[at++] = c;
		}
	}
	text[at] = '\0';
	pthread_mutex_unlock(&captured.lock);
}
