// SPDX-License-Identifier: Apache-2.0
/*
 * The system calls that a container is refused: those of LXC's own profile
 * (config/templates/common.seccomp in its source). LXC gets them as text for the container's first
 * process; commands that join the container get the same as a filter, since a filter is inherited
 * and never joined, seccomp(2).
 *
 *   arch ─▸ number ─▸ refused: EPERM
 *                  ─▸ umount2 with MNT_FORCE: EACCES, as with LXC
 *                  ─▸ any other: allowed
 */
#define _GNU_SOURCE
#include "init.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * An architecture's numbers. The native ones are this compiler's; those of 32-bit programs are from
 * arch/x86/entry/syscalls/syscall_32.tbl and arch/arm/tools/syscall.tbl.
 */
struct numbers {
	uint32_t arch;
	uint32_t umount2;
	uint32_t refused[6]; /* in the order of names; what is unused repeats another */
};

static const char *const names[] = {
	"kexec_load", "open_by_handle_at", "init_module", "finit_module", "delete_module",
};

static const struct numbers known[] = {
#if defined(__x86_64__)
	/* 528 is kexec_load of the x32 ABI (syscall_64.tbl). */
	{AUDIT_ARCH_X86_64,
	 SYS_umount2,
	 {SYS_kexec_load, SYS_open_by_handle_at, SYS_init_module, SYS_finit_module,
	  SYS_delete_module, 528}},
	{AUDIT_ARCH_I386, 52, {283, 342, 128, 350, 129, 129}},
#elif defined(__aarch64__)
	{AUDIT_ARCH_AARCH64,
	 SYS_umount2,
	 {SYS_kexec_load, SYS_open_by_handle_at, SYS_init_module, SYS_finit_module,
	  SYS_delete_module, SYS_delete_module}},
	{AUDIT_ARCH_ARM, 52, {347, 371, 128, 379, 129, 129}},
#else
#error "seccomp.c lacks the numbers of this architecture's system calls"
#endif
};

/* Calls of the x32 ABI have this bit besides the number (arch/x86/include/uapi/asm/unistd.h). */
#define X32_BIT 0x40000000U

enum {
	REFUSED = sizeof known[0].refused / sizeof *known[0].refused,
	/* For each architecture: is it the one, load and clean the number, compare. */
	ARCH_LENGTH = 1 + 2 + REFUSED + 2,
	ARCHES = sizeof known / sizeof *known,
	/* Load the architecture; theirs; allow others; look at umount2's flags; three answers. */
	LENGTH = 1 + ARCHES * ARCH_LENGTH + 1 + 2 + 3,
};

static struct sock_filter seccomp__load(size_t offset)
{
	return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

/* Writes the program. The ends of jumps are counted from the instruction after the jump. */
static void seccomp__write(struct sock_filter *code)
{
	enum { FLAGS = LENGTH - 5, REFUSE = LENGTH - 2, DENY = LENGTH - 1 };
	int at = 0;

	code[at++] = seccomp__load(offsetof(struct seccomp_data, arch));
	for (int i = 0; i < ARCHES; i++) {
		const struct numbers *n = &known[i];

		code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, n->arch, 0,
							  ARCH_LENGTH - 1);
		code[at++] = seccomp__load(offsetof(struct seccomp_data, nr));
		code[at++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~X32_BIT);
		for (int j = 0; j < REFUSED; j++, at++)
			code[at] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
								n->refused[j], REFUSE - at - 1, 0);
		code[at] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, n->umount2,
							FLAGS - at - 1, 0);
		at++;
		code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	/* The flags are the second argument; x86 and ARM put its low half first. */
	code[at++] = seccomp__load(offsetof(struct seccomp_data, args[1]));
	code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MNT_FORCE,
						  DENY - FLAGS - 2, 0);
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	code[at] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES);
}

int seccomp__install(void)
{
	struct sock_filter code[LENGTH];
	struct sock_fprog program = {.len = LENGTH, .filter = code};

	seccomp__write(code);
	/*
	 * Linux before 5.16 would slow the process down by its guard against Spectre 4
	 * (Documentation/userspace-api/spec_ctrl.rst), and so what is measured. Older than 4.17,
	 * it does not know the flag.
	 */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
		    &program) == 0)
		return 0;
	if (errno != EINVAL)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

int seccomp__main(void)
{
	puts("2\ndenylist\nreject_force_umount\n[all]");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		printf("%s errno %d\n", names[i], EPERM);
	return fflush(stdout) == 0 ? 0 : INIT_EXIT_FAILED;
}
