// SPDX-License-Identifier: Apache-2.0
/*
 * A socket filter that runs for as many nanoseconds as the packet says, a 64-bit number,
 * and drops it. It runs where the packet is received: in the softirq NET_RX. It writes its
 * begin and end to a map that is memory of this program, so the log has times of the
 * softirq itself, not of its sender.
 *
 * The program is assembled here, because it is the only one and needs no loader:
 *
 *	length = 8 bytes of the packet behind its UDP header
 *	begin = now; tries = LOOPS
 *	do end = now; while (end < begin + length && --tries)
 *	write begin if it is the first, end, += end - begin, += 1
 */
#define _GNU_SOURCE
#include "disturb.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Reading the clock takes at least 10 ns, so this is a millisecond; the verifier allows no
 * more steps (BPF_COMPLEXITY_LIMIT_INSNS in kernel/bpf/verifier.c: a million). */
#define LOOPS 100000

#define OP(CODE, DST, SRC, OFF, IMM)                                                           \
	(struct bpf_insn)                                                                      \
	{                                                                                      \
		.code = (CODE), .dst_reg = (DST), .src_reg = (SRC), .off = (OFF), .imm = (IMM) \
	}
#define MOVE(DST, SRC)		    OP(BPF_ALU64 | BPF_MOV | BPF_X, DST, SRC, 0, 0)
#define SET(DST, IMM)		    OP(BPF_ALU64 | BPF_MOV | BPF_K, DST, 0, 0, IMM)
#define ADD(DST, SRC)		    OP(BPF_ALU64 | BPF_ADD | BPF_X, DST, SRC, 0, 0)
#define ADD_NUMBER(DST, IMM)	    OP(BPF_ALU64 | BPF_ADD | BPF_K, DST, 0, 0, IMM)
#define SUB(DST, SRC)		    OP(BPF_ALU64 | BPF_SUB | BPF_X, DST, SRC, 0, 0)
#define LOAD(DST, SRC, OFF)	    OP(BPF_LDX | BPF_MEM | BPF_DW, DST, SRC, OFF, 0)
#define STORE(DST, OFF, SRC)	    OP(BPF_STX | BPF_MEM | BPF_DW, DST, SRC, OFF, 0)
#define CALL(FUNCTION)		    OP(BPF_JMP | BPF_CALL, 0, 0, 0, FUNCTION)
#define JUMP(OFF)		    OP(BPF_JMP | BPF_JA, 0, 0, OFF, 0)
#define JUMP_IF(OP_, DST, IMM, OFF) OP(BPF_JMP | (OP_) | BPF_K, DST, 0, OFF, IMM)
#define JUMP_LESS(DST, SRC, OFF)    OP(BPF_JMP | BPF_JLT | BPF_X, DST, SRC, OFF, 0)
#define EXIT()			    OP(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

#define AT(FIELD) ((short)__builtin_offsetof(struct softirq_times, FIELD))

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof *attr);
}

static int softirq_filter_load(int map)
{
	enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP };
	const struct bpf_insn program[] = {
		SET(R2, 8), /* the UDP header is before it: udp_queue_rcv_one_skb() */
		MOVE(R3, FP),
		ADD_NUMBER(R3, -8),
		SET(R4, 8),
		CALL(BPF_FUNC_skb_load_bytes),
		JUMP_IF(BPF_JNE, R0, 0, 25),
		LOAD(R7, FP, -8),
		CALL(BPF_FUNC_ktime_get_ns),
		MOVE(R8, R0),
		ADD(R7, R8), /* when it ends */
		SET(R9, LOOPS),
		/* The loop. Its exit falls through, so that the verifier follows the exit
		 * first, and has one branch to come back to instead of one for each turn. */
		CALL(BPF_FUNC_ktime_get_ns),
		JUMP_LESS(R0, R7, 15),
		/* Done: R8 is the begin, R0 the end. */
		OP(BPF_LD | BPF_DW | BPF_IMM, R1, BPF_PSEUDO_MAP_VALUE, 0, map),
		OP(0, 0, 0, 0, 0),
		LOAD(R2, R1, AT(begin_ns)),
		JUMP_IF(BPF_JNE, R2, 0, 1),
		STORE(R1, AT(begin_ns), R8),
		STORE(R1, AT(end_ns), R0),
		LOAD(R2, R1, AT(busy_ns)),
		ADD(R2, R0),
		SUB(R2, R8),
		STORE(R1, AT(busy_ns), R2),
		LOAD(R2, R1, AT(packets)),
		ADD_NUMBER(R2, 1),
		STORE(R1, AT(packets), R2),
		SET(R0, 0),
		EXIT(),
		/* Another turn. */
		ADD_NUMBER(R9, -1),
		JUMP_IF(BPF_JNE, R9, 0, -19),
		JUMP(-18), /* no tries left */
		/* No length: dropped at once. */
		SET(R0, 0),
		EXIT(),
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	attr.insns = (uint64_t)(uintptr_t)program;
	attr.insn_cnt = sizeof program / sizeof *program;
	attr.license = (uint64_t)(uintptr_t) "Apache-2.0";
	memcpy(attr.prog_name, "nines_disturb", sizeof "nines_disturb");
	return bpf(BPF_PROG_LOAD, &attr);
}

int softirq_filter_attach(int socket, volatile struct softirq_times **times)
{
	union bpf_attr attr;
	int map;
	int program;
	void *memory;

	memset(&attr, 0, sizeof attr);
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = sizeof(uint32_t);
	attr.value_size = sizeof(struct softirq_times);
	attr.max_entries = 1;
	attr.map_flags = BPF_F_MMAPABLE; /* Linux 5.5 */
	map = bpf(BPF_MAP_CREATE, &attr);
	if (map < 0)
		return -1;
	memory = mmap(NULL, sizeof **times, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (memory == MAP_FAILED)
		return -1;
	program = softirq_filter_load(map);
	if (program < 0 ||
	    setsockopt(socket, SOL_SOCKET, SO_ATTACH_BPF, &program, sizeof program) < 0)
		return -1;
	/* The socket keeps the program alive, and the program the map. */
	close(program);
	close(map);
	*times = memory;
	return 0;
}
