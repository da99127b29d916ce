/* Loading the XDP filter, whose object is part of this binary; see xdp_program.h. */
#include "port/xdp_program.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NINES_XDP_OBJECT is xdp_filter.bpf.c compiled; the Makefile says where. */
__asm__(".section .rodata\n"
	".balign 8\n"
	".global nines_xdp_object, nines_xdp_object_end\n"
	"nines_xdp_object:\n"
	".incbin \"" NINES_XDP_OBJECT "\"\n"
	"nines_xdp_object_end:\n"
	".previous\n");
extern const uint8_t nines_xdp_object[], nines_xdp_object_end[];

struct xdp_program_handle {
	struct bpf_object *object;
	int link_fd, sockets_fd;
	const char *mode;
};

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

static int set_port(struct bpf_object *object, uint16_t udp_port)
{
	struct bpf_map *map;
	uint16_t value = htons(udp_port);
	/* The program's only constant. */
	bpf_object__for_each_map(map, object)
	{
		if (strstr(bpf_map__name(map), ".rodata"))
			return bpf_map__set_initial_value(map, &value, sizeof value);
	}
	return -ENOENT;
}

static int attach(struct xdp_program_handle *h, int program_fd, int ifindex)
{
	static const struct {
		uint32_t flags;
		const char *name;
	} modes[] = {{XDP_FLAGS_DRV_MODE, "native"}, {XDP_FLAGS_SKB_MODE, "generic"}};
	int fd = -EOPNOTSUPP;
	for (size_t i = 0; i < 2; i++) {
		LIBBPF_OPTS(bpf_link_create_opts, options, .flags = modes[i].flags);
		fd = bpf_link_create(program_fd, ifindex, BPF_XDP, &options);
		h->mode = modes[i].name;
		/* Only a driver without XDP is asked again; not a busy interface. */
		if (fd != -EOPNOTSUPP)
			break;
	}
	h->link_fd = fd;
	return fd < 0 ? fd : 0;
}

int xdp_program_attach(struct xdp_program_handle **out, int ifindex, uint16_t udp_port, char *error,
		       size_t size)
{
	const char *what = "allocate";
	int err = -ENOMEM;
	libbpf_set_print(quiet);
	struct xdp_program_handle *h = calloc(1, sizeof *h);
	if (!h)
		return err;
	h->link_fd = -1;
	what = "open the XDP program";
	h->object = bpf_object__open_mem(nines_xdp_object,
					 (size_t)(nines_xdp_object_end - nines_xdp_object), NULL);
	if (!h->object) {
		err = -errno;
		goto fail;
	}
	err = set_port(h->object, udp_port);
	if (err)
		goto fail;
	what = "load the XDP program (needs CAP_BPF and CAP_NET_ADMIN)";
	err = bpf_object__load(h->object);
	if (err)
		goto fail;
	struct bpf_program *program = bpf_object__find_program_by_name(h->object, "nines_filter");
	h->sockets_fd = bpf_object__find_map_fd_by_name(h->object, "sockets");
	what = "attach the XDP program; has the interface another, or too large an MTU?";
	err = program ? attach(h, bpf_program__fd(program), ifindex) : -ENOENT;
	if (err)
		goto fail;
	*out = h;
	return 0;
fail:
	snprintf(error, size, "cannot %s", what);
	xdp_program_detach(h);
	return err;
}

void xdp_program_detach(struct xdp_program_handle *h)
{
	if (h->link_fd >= 0)
		close(h->link_fd);
	bpf_object__close(h->object);
	free(h);
}

int xdp_program_sockets(const struct xdp_program_handle *h)
{
	return h->sockets_fd;
}

const char *xdp_program_mode(const struct xdp_program_handle *h)
{
	return h->mode;
}
