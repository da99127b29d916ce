/* The control thread's loop; see session.h. */
#include "control/session.h"

#include "control/reply.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { PEERS_EVERY_MS = 100 };

struct session {
	struct engine *engine;
	int in_fd, out_fd;
	char *line; /* COMMAND_LINE_MAX bytes */
	size_t used;
	bool skipping; /* inside a line that was too long */
	bool gone; /* the client no longer reads */
};

static void answer(struct session *s, json_t *o)
{
	char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	json_decref(o);
	if (!text)
		return;
	size_t length = strlen(text), done = 0;
	text[length] = '\n'; /* in place of the NUL */
	while (done <= length && !s->gone) {
		ssize_t n = write(s->out_fd, text + done, length + 1 - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			s->gone = true;
		else
			done += (size_t)n;
	}
	free(text);
}

static void handle_line(struct session *s, const char *line, size_t length)
{
	char error[COMMAND_ERROR_BYTES] = "";
	struct command command;
	int err = command_parse(line, length, &command, error, sizeof error);
	answer(s,
	       err ? reply_refusal(command.name, err, error) : engine_command(s->engine, &command));
}

static void too_long(struct session *s)
{
	answer(s, reply_refusal("?", -E2BIG, "a line is longer than 1 MiB"));
}

/* Handles the complete lines in the buffer. */
static void handle_input(struct session *s)
{
	size_t from = 0;
	char *end;
	while ((end = memchr(s->line + from, '\n', s->used - from))) {
		size_t length = (size_t)(end - s->line) - from;
		if (s->skipping)
			s->skipping = false;
		else if (length > 0)
			handle_line(s, s->line + from, length);
		from += length + 1;
	}
	s->used -= from;
	memmove(s->line, s->line + from, s->used);
	if (s->used == COMMAND_LINE_MAX) {
		if (!s->skipping)
			too_long(s);
		s->skipping = true;
		s->used = 0;
	}
}

static void handle_events(struct session *s)
{
	json_t *event;
	while ((event = engine_event(s->engine)))
		answer(s, event);
}

/* How long to wait for commands and events; -1 for as long as it takes. The peer of an idle port may have
 * refused it only because it was just starting, and may itself wait for this port. */
static int timeout_ms(struct engine *e)
{
	uint64_t next = engine_next_progress_ns(e), now = clock_monotonic_ns();
	if (next == 0)
		return engine_look_for_peers(e) ? PEERS_EVERY_MS : -1;
	return next <= now ? 0 : (int)((next - now) / 1000000 + 1);
}

/* Still writes a running trial's answer, if the client reads it. */
static void finish_trial(struct session *s)
{
	engine_interrupt(s->engine);
	while (s->engine->trial) {
		struct pollfd fd = {.fd = engine_event_fd(s->engine), .events = POLLIN};
		poll(&fd, 1, 1000);
		handle_events(s);
	}
}

enum outcome { CLIENT_LEFT, SIGNALLED };

static enum outcome serve_client(struct session *s, int signal_fd)
{
	enum outcome outcome = CLIENT_LEFT;
	while (!s->gone) {
		struct pollfd fds[3] = {
			{.fd = s->in_fd, .events = POLLIN},
			{.fd = signal_fd, .events = POLLIN},
			{.fd = engine_event_fd(s->engine), .events = POLLIN},
		};
		int n = poll(fds, 3, timeout_ms(s->engine));
		if (n < 0 && errno != EINTR)
			break;
		handle_events(s);
		if (fds[1].revents) {
			outcome = SIGNALLED;
			break;
		}
		if (fds[0].revents) {
			ssize_t got = read(s->in_fd, s->line + s->used, COMMAND_LINE_MAX - s->used);
			if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
				break;
			if (got > 0) {
				s->used += (size_t)got;
				handle_input(s);
			}
		}
	}
	finish_trial(s);
	return outcome;
}

static int session_run(struct engine *e, int in_fd, int out_fd, int signal_fd,
		       enum outcome *outcome)
{
	struct session s = {.engine = e, .in_fd = in_fd, .out_fd = out_fd};
	s.line = malloc(COMMAND_LINE_MAX);
	if (!s.line)
		return -ENOMEM;
	*outcome = serve_client(&s, signal_fd);
	free(s.line);
	return 0;
}

int session_stdio(struct engine *e, int in_fd, int out_fd, int signal_fd)
{
	enum outcome outcome;
	return session_run(e, in_fd, out_fd, signal_fd, &outcome);
}

static int listen_at(const char *path, int *out, struct stat *file)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int err;
	if (strlen(path) >= sizeof address.sun_path)
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* A socket file that a killed engine left would make bind fail, so it is removed; a running
	 * engine's is not. */
	if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
		close(fd);
		return -EADDRINUSE;
	}
	unlink(path);
	if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 8) < 0 ||
	    stat(path, file) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	*out = fd;
	return 0;
}

/* The pid of the other end of a connection, or, of a listener, of who made it, as seen from here: 0 for
 * a process of a foreign pid namespace (cred_to_ucred in net/core/sock.c). A user id would prove nothing,
 * as root in a container has that of root on the host. */
static pid_t peer_of(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof peer;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ? -1 : peer.pid;
}

/* Where the listener comes from outside of the node, so do those who may use it. */
static bool may_command(int listener, int client)
{
	return peer_of(listener) != 0 || peer_of(client) == 0;
}

static void refuse_client(struct engine *e, int fd)
{
	struct session s = {.engine = e, .out_fd = fd};
	answer(&s,
	       reply_refusal("?", -EPERM, "only nines, outside of the node, commands this engine"));
}

int session_listener(struct engine *e, int listener, int signal_fd)
{
	enum outcome outcome = CLIENT_LEFT;
	int err = 0;
	while (!err && outcome != SIGNALLED) {
		struct pollfd fds[2] = {
			{.fd = listener, .events = POLLIN},
			{.fd = signal_fd, .events = POLLIN},
		};
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			err = -errno;
		if (fds[1].revents)
			break;
		if (!(fds[0].revents & POLLIN))
			continue;
		int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (client < 0)
			continue; /* it left before it was served */
		if (may_command(listener, client))
			err = session_run(e, client, client, signal_fd, &outcome);
		else
			refuse_client(e, client);
		close(client);
	}
	return err;
}

int session_socket(struct engine *e, const char *path, int signal_fd)
{
	struct stat file = {0}, now;
	int listener = -1, err = listen_at(path, &listener, &file);
	if (err)
		return err;
	err = session_listener(e, listener, signal_fd);
	/* Another engine may have the name now. */
	if (stat(path, &now) == 0 && now.st_dev == file.st_dev && now.st_ino == file.st_ino)
		unlink(path);
	close(listener);
	return err;
}
