/* filter: the data that the programs of filter.bpf.c share with the engine. */
#ifndef NINES_FILTER_H
#define NINES_FILTER_H

struct filter_settings {
	unsigned short udp_port; /* network byte order; 0: every frame */
	unsigned short sends; /* nines_redirect sends the frames of test runs */
	/* nines_witness: as in signature_flows */
	unsigned int flows, flow_address;
	unsigned short flow_port, unused;
};

/* The interface that a test run's frames come from (bpf_prog_test_run_xdp in net/bpf/test_run.c):
 * the loopback of the namespace, where no such program is attached. */
enum { FILTER_LOOPBACK = 1 };

/* A burst to send (xdp_frames.h). */
enum {
	XDP_FRAMES_MAX = 64,
	/* Of a frame: half a page and a little more. So a small frame and its length share a cache
	 * line, and the frames of a burst spread over the cache's sets. */
	XDP_FRAMES_BYTES = 33 * 64 - 4,
};

struct xdp_frames_burst {
	unsigned int next; /* the frame of the burst that fills the run's next one */
	unsigned int aborted; /* frames that the program did not send, in all runs */
	unsigned int unused[14];
	struct {
		unsigned int bytes;
		unsigned char data[XDP_FRAMES_BYTES];
	} frames[XDP_FRAMES_MAX];
};

#endif
