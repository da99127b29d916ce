// SPDX-License-Identifier: Apache-2.0
/* nines-filter compiles a filter in tcpdump's language (pcap-filter(7)) by libpcap, and prints the program as
 * tcpdump -ddd does: the number of instructions, and a line with the four numbers of each. It is a program of its own
 * because the Go programs are built without C. It reads nothing, but asks the resolver for names in the filter. */
#include <pcap/pcap.h>

#include <stdio.h>
#include <stdlib.h>

/* The most bytes of a packet that a capture file may have: tcpdump's MAXIMUM_SNAPLEN. A program returns it for a
 * packet that fits. */
enum { MOST_BYTES = 262144 };

/* link_type_for returns libpcap's own number of a link type of files, https://www.tcpdump.org/linktypes.html. They
 * differ in raw IP only. */
static int link_type_for(int in_files)
{
	enum { LINKTYPE_RAW = 101 };
	return in_files == LINKTYPE_RAW ? DLT_RAW : in_files;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fputs("usage: nines-filter LINKTYPE FILTER\n", stderr);
		return 2;
	}
	pcap_t *pcap = pcap_open_dead(link_type_for(atoi(argv[1])), MOST_BYTES);
	if (pcap == NULL) {
		fputs("out of memory\n", stderr);
		return 1;
	}
	struct bpf_program program;
	int status = pcap_compile(pcap, &program, argv[2], 1, PCAP_NETMASK_UNKNOWN);
	if (status == 0) {
		printf("%u\n", program.bf_len);
		for (unsigned int i = 0; i < program.bf_len; i++) {
			const struct bpf_insn *in = &program.bf_insns[i];
			printf("%u %u %u %u\n", in->code, in->jt, in->jf, in->k);
		}
		pcap_freecode(&program);
	} else {
		fprintf(stderr, "%s\n", pcap_geterr(pcap));
	}
	pcap_close(pcap);
	if (fflush(stdout) != 0)
		return 1;
	return status == 0 ? 0 : 2;
}
