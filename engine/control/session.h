/*
 * session: the protocol on a pair of descriptors or on a UNIX socket: reads lines, passes them to
 * the engine, writes answers and events. SIGINT and SIGTERM arrive through a signalfd.
 */
#ifndef NINES_SESSION_H
#define NINES_SESSION_H

#include "control/engine.h"

/* Reads commands from in_fd until its end or a signal. 0 or -errno. */
int session_stdio(struct engine *e, int in_fd, int out_fd, int signal_fd);

/* Serves one client at a time on a socket at `path`, until a signal. 0 or -errno. */
int session_socket(struct engine *e, const char *path, int signal_fd);

/* The same on a socket that listens already. If a process outside of this pid namespace made it, only
 * such processes are served: those of the node are not. */
int session_listener(struct engine *e, int listener, int signal_fd);

#endif
