/* What an error number tells; see refusal.h. */
#include "refusal/refusal.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	int error;
	const char *remedy;
} exhausted[] = {
	{EMFILE, "raise the limit on open files, RLIMIT_NOFILE"},
	{ENFILE, "raise the host's limit on open files, sysctl fs.file-max"},
	{ENOMEM, "memory or its limit: the control group's, RLIMIT_MEMLOCK"},
	{ENOBUFS, "memory or its limit: the control group's, RLIMIT_MEMLOCK"},
	{ENOSPC, "the file system or a table of the kernel is full"},
	{EDQUOT, "the user's quota on the file system is used up"},
	{EAGAIN, "the limit on processes, RLIMIT_NPROC and pids.max, or another is reached"},
};

static const struct {
	int capability;
	const char *missing, *present;
} refused[] = {
#define RIGHT(name)                                                                        \
	{                                                                                  \
		name, "needs " #name,                                                      \
			"it has " #name                                                    \
			": seccomp, a security module or the kernel's lockdown forbids it" \
	}
	RIGHT(CAP_NET_RAW),
	RIGHT(CAP_NET_ADMIN),
	RIGHT(CAP_BPF),
#undef RIGHT
};

static const char *remedy_of(int err)
{
	for (size_t i = 0; i < sizeof exhausted / sizeof exhausted[0]; i++)
		if (exhausted[i].error == (err < 0 ? -err : err))
			return exhausted[i].remedy;
	return NULL;
}

bool refusal_exhausted(int err)
{
	return remedy_of(err) != NULL;
}

/* Whether the calling thread has a capability; true if nobody can tell. */
static bool has(int capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
	if (syscall(SYS_capget, &header, data) < 0)
		return true;
	return data[capability / 32].effective & (UINT32_C(1) << capability % 32);
}

const char *refusal_reason(int err, int capability)
{
	if (err < 0)
		err = -err;
	if (err != EPERM && err != EACCES)
		return remedy_of(err);
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
		if (refused[i].capability == capability)
			return has(capability) ? refused[i].present : refused[i].missing;
	return NULL;
}

void refusal_say(char *error, size_t size, int err, int capability, const char *format, ...)
{
	const char *reason = refusal_reason(err, capability);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(error, size, format, arguments);
	va_end(arguments);
	size_t length = strlen(error);
	if (reason)
		snprintf(error + length, size - length, " (%s)", reason);
}
