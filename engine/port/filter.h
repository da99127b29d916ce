/* filter: what the programs of filter.bpf.c share with the engine. */
#ifndef NINES_FILTER_H
#define NINES_FILTER_H

struct filter_settings {
	unsigned short udp_port; /* network byte order; 0: every frame */
	unsigned short sends; /* nines_redirect sends what test runs give it */
};

/* The interface that a test run's frames come from (bpf_prog_test_run_xdp in
 * net/bpf/test_run.c): in every namespace its loopback, where no such program is
 * attached. */
enum { FILTER_LOOPBACK = 1 };

/* A burst to be sent (xdp_frames.h). */
enum {
	XDP_FRAMES_MAX = 64,
	/* Of a frame: half a page and a little, so that a small one and its length are a line
	 * of the cache, and those of a burst do not share a few of its sets. */
	XDP_FRAMES_BYTES = 33 * 64 - 4,
};

struct xdp_frames_burst {
	unsigned int next; /* the frame that a run's next one is filled from */
	unsigned int aborted; /* that the program did not send, of all runs */
	unsigned int unused[14];
	struct {
		unsigned int bytes;
		unsigned char data[XDP_FRAMES_BYTES];
	} frames[XDP_FRAMES_MAX];
};

#endif
