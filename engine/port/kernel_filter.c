/* Loads the filter programs, whose object is part of this binary; see kernel_filter.h. */
#include "port/kernel_filter.h"

#include "port/filter.h"
#include "refusal/refusal.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* NINES_FILTER_OBJECT is the path of the compiled filter.bpf.c; the Makefile sets it. */
__asm__(".section .rodata\n"
	".balign 8\n"
	".global nines_filter_object, nines_filter_object_end\n"
	"nines_filter_object:\n"
	".incbin \"" NINES_FILTER_OBJECT "\"\n"
	"nines_filter_object_end:\n"
	".previous\n");
extern const uint8_t nines_filter_object[], nines_filter_object_end[];

struct kernel_filter {
	struct bpf_object *object;
	int link_fd, program_fd;
	const char *mode;
};

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

static int set(struct bpf_object *object, struct filter_settings settings)
{
	struct bpf_map *map;
	/* The programs' only constant. */
	bpf_object__for_each_map(map, object)
	{
		if (strstr(bpf_map__name(map), ".rodata"))
			return bpf_map__set_initial_value(map, &settings, sizeof settings);
	}
	return -ENOENT;
}

/* Leaves out the maps that the program does not use. */
static void leave_out(struct bpf_object *object, bool sends, bool counts)
{
	static const struct {
		const char *name;
		bool counts;
	} maps[] = {{"burst", false}, {"out", false}, {"ways", true}};
	for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++)
		if (!(maps[i].counts ? counts : sends))
			bpf_map__set_autocreate(bpf_object__find_map_by_name(object, maps[i].name),
						false);
}

static int attach_xdp(struct kernel_filter *f, int program_fd, int ifindex)
{
	static const struct {
		uint32_t flags;
		const char *name;
	} modes[] = {{XDP_FLAGS_DRV_MODE, "native"}, {XDP_FLAGS_SKB_MODE, "generic"}};
	int fd = -EOPNOTSUPP;
	for (size_t i = 0; i < 2; i++) {
		LIBBPF_OPTS(bpf_link_create_opts, options, .flags = modes[i].flags);
		fd = bpf_link_create(program_fd, ifindex, BPF_XDP, &options);
		f->mode = modes[i].name;
		/* Retry in generic mode only for a driver without XDP, not for a busy interface. */
		if (fd != -EOPNOTSUPP)
			break;
	}
	return fd;
}

static int attach_tcx(struct kernel_filter *f, int program_fd, int ifindex)
{
	/* BPF_TCX_INGRESS of include/uapi/linux/bpf.h, newer than Debian 12's libbpf. */
	enum { TCX_INGRESS = 46 };
	f->mode = "tcx";
	return bpf_link_create(program_fd, ifindex, (enum bpf_attach_type)TCX_INGRESS, NULL);
}

/* A copy of the socket's descriptor, so that the filter can be taken off. */
static int attach_socket(struct kernel_filter *f, int program_fd, int socket_fd)
{
	f->mode = "socket";
	if (setsockopt(socket_fd, SOL_SOCKET, SO_ATTACH_BPF, &program_fd, sizeof program_fd) < 0)
		return -errno;
	int fd = fcntl(socket_fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

/* Loads the one program of that name and attaches it to an interface, or to a socket. */
static int load(struct kernel_filter **out, const char *name,
		int (*attach)(struct kernel_filter *, int, int), int ifindex,
		struct filter_settings settings, char *error, size_t size)
{
	const char *what = "allocate";
	struct bpf_program *program;
	int err = -ENOMEM;
	libbpf_set_print(quiet);
	struct kernel_filter *f = calloc(1, sizeof *f);
	if (!f)
		return err;
	f->link_fd = -1;
	what = "open the filter program";
	f->object = bpf_object__open_mem(
		nines_filter_object, (size_t)(nines_filter_object_end - nines_filter_object), NULL);
	if (!f->object) {
		err = -errno;
		goto fail;
	}
	bpf_object__for_each_program(program, f->object)
		bpf_program__set_autoload(program, strcmp(bpf_program__name(program), name) == 0);
	err = set(f->object, settings);
	if (err)
		goto fail;
	leave_out(f->object, settings.sends, attach == attach_socket);
	what = "load the filter program";
	err = bpf_object__load(f->object);
	if (err)
		goto fail;
	program = bpf_object__find_program_by_name(f->object, name);
	f->program_fd = bpf_program__fd(program);
	what = "attach the filter program";
	f->link_fd = program ? attach(f, f->program_fd, ifindex) : -ENOENT;
	if (f->link_fd < 0) {
		err = f->link_fd;
		if (err == -EBUSY || err == -EEXIST)
			what = "attach the filter program: the interface has another";
		if (err == -EINVAL || err == -EOPNOTSUPP)
			what = "attach the filter program; is the interface's MTU too large for XDP?";
		goto fail;
	}
	*out = f;
	return 0;
fail:
	refusal_say(error, size, err, CAP_BPF, "cannot %s", what);
	kernel_filter_detach(f);
	return err;
}

int kernel_filter_redirect(struct kernel_filter **out, int ifindex, uint16_t udp_port, bool sends,
			   char *error, size_t size)
{
	struct filter_settings settings = {.udp_port = htons(udp_port), .sends = sends};
	return load(out, "nines_redirect", attach_xdp, ifindex, settings, error, size);
}

int kernel_filter_drop(struct kernel_filter **out, int ifindex, uint16_t udp_port, char *error,
		       size_t size)
{
	struct filter_settings settings = {.udp_port = htons(udp_port)};
	return load(out, "nines_drop", attach_tcx, ifindex, settings, error, size);
}

int kernel_filter_witness(struct kernel_filter **out, int socket_fd,
			  const struct signature_flows *flows, char *error, size_t size)
{
	struct filter_settings settings = {
		.flows = flows->count, .flow_port = flows->port, .flow_address = flows->address};
	return load(out, "nines_witness", attach_socket, socket_fd, settings, error, size);
}

int kernel_filter_forget(struct kernel_filter *f)
{
	static const struct signatures none;
	uint32_t key = 0;
	return bpf_map_update_elem(kernel_filter_map(f, "ways"), &key, &none, BPF_ANY);
}

int kernel_filter_read(struct kernel_filter *f, struct signatures *out)
{
	uint32_t key = 0;
	return bpf_map_lookup_elem(kernel_filter_map(f, "ways"), &key, out);
}

void kernel_filter_detach(struct kernel_filter *f)
{
	if (f->link_fd >= 0)
		close(f->link_fd);
	bpf_object__close(f->object);
	free(f);
}

int kernel_filter_program(const struct kernel_filter *f)
{
	return f->program_fd;
}

int kernel_filter_map(const struct kernel_filter *f, const char *name)
{
	return bpf_object__find_map_fd_by_name(f->object, name);
}

const char *kernel_filter_mode(const struct kernel_filter *f)
{
	return f->mode;
}
