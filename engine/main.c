/* nines-engine: sends, receives and forwards packets, driven by JSON lines
 * (docs/reference/engine-protocol.md). README.md in this folder has a reading order. */
#include "clock/clock.h"
#include "control/session.h"
#include "role/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#ifndef NINES_VERSION
#define NINES_VERSION "devel"
#endif

static const char help[] =
	"nines-engine " NINES_VERSION ": sends, receives and forwards packets\n"
	"\n"
	"  nines-engine                commands on stdin, answers on stdout\n"
	"  nines-engine --socket PATH  the same on a UNIX socket, one client at a time\n"
	"  nines-engine --listener FD  the same on a socket that it was started with\n"
	"  nines-engine --help         this text\n"
	"  nines-engine --version      the version\n"
	"\n"
	"Commands are JSON objects, one a line, such as\n"
	"  {\"cmd\":\"hello\"}\n"
	"  {\"cmd\":\"open\",\"port\":\"a\",\"backend\":\"memory\",\"interface\":\"loop0\",\"wait\":\"spin\"}\n"
	"  {\"cmd\":\"trial\",\"role\":\"loop\",\"streams\":[{\"tx\":\"a\",\"rx\":\"a\",\"rate_pps\":1000}],"
	"\"duration_ns\":1000000000}\n";

/* Locks all current and future memory if RLIMIT_MEMLOCK is large enough: with a small limit, later
 * allocations would fail. */
static int lock_memory(void)
{
	enum { ENOUGH = 64 << 20 };
	if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		return -errno;
	void *trial =
		mmap(NULL, ENOUGH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (trial == MAP_FAILED) {
		munlockall();
		return -ENOMEM;
	}
	munmap(trial, ENOUGH);
	return 0;
}

/* Where the commands come from: a socket's path or descriptor, or neither. */
struct source {
	const char *path;
	int listener; /* -1 for none */
};

static int serve(struct engine *e, const struct source *from, int out_fd, int signal_fd)
{
	if (from->path)
		return session_socket(e, from->path, signal_fd);
	if (from->listener >= 0)
		return session_listener(e, from->listener, signal_fd);
	return session_stdio(e, STDIN_FILENO, out_fd, signal_fd);
}

static int run(const struct source *from)
{
	static struct engine engine;
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signal_fd < 0)
		return -errno;
	int locked = lock_memory();
	if (locked)
		snprintf(engine.notes[engine.note_count++], sizeof engine.notes[0],
			 "memory is not locked (%s): needs CAP_IPC_LOCK or a larger "
			 "RLIMIT_MEMLOCK",
			 strerror(-locked));
	clock_init();
	/* Keeps stdout for answers only, because DPDK and its drivers print there, too. */
	int out_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (out_fd < 0)
		return -errno;
	dup2(STDERR_FILENO, STDOUT_FILENO);
	int err = serve(&engine, from, out_fd, signal_fd);
	engine_close(&engine);
	struct signalfd_siginfo by;
	/* With a socket possibly no client saw the engine end, so it goes to the log. */
	if ((from->path || from->listener >= 0) && read(signal_fd, &by, sizeof by) == sizeof by)
		fprintf(stderr, "nines-engine: ended by SIG%s\n", sigabbrev_np((int)by.ssi_signo));
	close(signal_fd);
	return err;
}

int main(int argc, char **argv)
{
	struct source from = {.listener = -1};
	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		fputs(help, stdout);
		return 0;
	}
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts("nines-engine " NINES_VERSION);
		return 0;
	}
	if (argc == 3 && strcmp(argv[1], "--socket") == 0) {
		from.path = argv[2];
	} else if (argc == 3 && strcmp(argv[1], "--listener") == 0) {
		from.listener = atoi(argv[2]);
	} else if (argc != 1) {
		fprintf(stderr, "nines-engine: unknown arguments; see nines-engine --help\n");
		return 2;
	}
	/* Started from a descriptor, it would have that one's number for a name. */
	prctl(PR_SET_NAME, "nines-engine");
	int err = thread_init();
	if (err) {
		fprintf(stderr,
			"nines-engine: cannot run above its packet threads, to stop them: %s\n",
			strerror(-err));
		return 1;
	}
	err = run(&from);
	if (err) {
		fprintf(stderr, "nines-engine: %s%s%s\n", from.path ? from.path : "",
			from.path ? ": " : "", strerror(-err));
		return 1;
	}
	return 0;
}
