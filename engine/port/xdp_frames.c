/* Bursts as XDP frames; see xdp_frames.h. */
#include "port/xdp_frames.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* include/uapi/linux/bpf.h, Linux 5.18; newer than some headers. */
#ifndef BPF_F_TEST_XDP_LIVE_FRAMES
#define BPF_F_TEST_XDP_LIVE_FRAMES (1U << 1)
#endif

struct xdp_frames {
	int program_fd;
	struct xdp_frames_burst *burst; /* shared with the program */
};

_Static_assert((int)XDP_FRAMES_MAX >= (int)PORT_BURST, "a burst fits");
_Static_assert(sizeof(struct xdp_frames_burst) == (XDP_FRAMES_MAX * 33 + 1) * 64, "in lines");

/* The run is one batch, so a signal does not end it half way. The program is attached, because the
 * run of an unattached one takes a place in XDP's dispatcher and waits for RCU, which takes 20 ms
 * (bpf_prog_test_run_xdp, bpf_dispatcher_change_prog). */
static int run(struct xdp_frames *f, const uint8_t *first, uint32_t bytes, unsigned count)
{
	f->burst->next = 0;
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = first, .data_size_in = bytes,
		    .repeat = (int)count, .batch_size = count, .flags = BPF_F_TEST_XDP_LIVE_FRAMES);
	return bpf_prog_test_run_opts(f->program_fd, &options);
}

int xdp_frames_open(struct xdp_frames **out, const struct kernel_filter *program, int ifindex)
{
	uint8_t nothing[64] = {0};
	uint32_t first = 0;
	if (bpf_map_update_elem(kernel_filter_map(program, "out"), &first, &ifindex, BPF_ANY))
		return -errno;
	void *burst = mmap(NULL, sizeof(struct xdp_frames_burst), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_POPULATE, kernel_filter_map(program, "burst"), 0);
	if (burst == MAP_FAILED)
		return -errno;
	struct xdp_frames *f = calloc(1, sizeof *f);
	if (!f) {
		munmap(burst, sizeof(struct xdp_frames_burst));
		return -ENOMEM;
	}
	*f = (struct xdp_frames){.program_fd = kernel_filter_program(program), .burst = burst};
	/* An empty frame goes nowhere; it only tests whether the kernel runs the program. */
	int err = run(f, nothing, sizeof nothing, 1);
	if (err) {
		xdp_frames_close(f);
		return err;
	}
	f->burst->aborted = 0;
	*out = f;
	return 0;
}

void xdp_frames_close(struct xdp_frames *f)
{
	munmap(f->burst, sizeof *f->burst);
	free(f);
}

int xdp_frames_send(struct xdp_frames *f, const struct packet *burst, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		f->burst->frames[i].bytes = burst[i].length;
		memcpy(f->burst->frames[i].data, burst[i].data, burst[i].length);
	}
	int err = run(f, burst[0].data, burst[0].length, count);
	if (!err)
		return (int)count;
	unsigned taken = __atomic_load_n(&f->burst->next, __ATOMIC_RELAXED);
	return taken > 0 ? (int)taken : err;
}

uint64_t xdp_frames_aborted(const struct xdp_frames *f)
{
	return __atomic_load_n(&f->burst->aborted, __ATOMIC_RELAXED);
}
