package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/packetfilter"
)

// captureCall holds the options of nines capture.
type captureCall struct {
	lab       string
	endpoints []string
	files     []string
	count     int
	duration  time.Duration
	wait      time.Duration
	filter    string
	compiled  *packetfilter.Filter
}

func newCaptureCommand() *cobra.Command {
	var call captureCall
	c := &cobra.Command{
		Use:        "capture NODE:INTERFACE...",
		Short:      "Capture packets at interfaces of a lab",
		SuggestFor: []string{"tcpdump", "sniff"},
		Long: `Capture packets at an interface of a node until Ctrl-C, --count, --duration or the end
of the node. The output is one line of text per packet, or a pcap file with nanosecond
times for Wireshark, tcpdump and nines analyze. The last line says how many frames the
capture itself lost. Two interfaces, with -w for each, give a pair of captures with one
clock, before and after what is between them; more interfaces give a capture of each.
Frames have the VLAN tags that they have on the link. A filter sees them as tcpdump sees
those of a file: "tcp" chooses frames without a tag, and "vlan and tcp" those with one.

A capture sees what the kernel's network stack handles. It does not see frames that an
XDP program or an AF_XDP socket takes off the interface, or frames that an engine sends
there through a packet socket (backends raw and ring): capture those where they arrive.
Stop the traffic before you stop the capture, or packets in flight count as lost.

Like tcpdump, -w replaces an existing file, follows a symbolic link and writes into a
pipe. So name no file in a folder that others may write to.`,
		Example: `  nines capture dut:in
  nines capture dut:in -w in.pcap --duration 10s
  nines capture loadgen:rx --count 5
  nines capture dut:in --filter 'udp port 5001 and not host 10.0.0.9'
  nines capture dut:in loadgen:rx -w pre.pcap -w post.pcap
  nines capture dut:in loadgen:rx -w pre.pcap -w post.pcap --wait 1m & nines run lab.yaml
  nines analyze pre.pcap post.pcap                        # of the pair
  nines capture dut:in -w - | wireshark -k -i -
  nines capture dut:in -w - | tcpdump -r - -nn`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 {
				return exit.Wrongf("name an interface as NODE:INTERFACE, as in: nines capture dut:in")
			}
			for _, a := range args {
				if !strings.Contains(a, ":") {
					return exit.Wrongf("%q is not NODE:INTERFACE, as in: nines capture dut:in", a)
				}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			call.endpoints = args
			if err := call.check(); err != nil {
				return err
			}
			return call.capture(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	labFlag(c, &call.lab)
	c.Flags().StringArrayVarP(&call.files, "write", "w", nil, "write a pcap file, - for standard output; once per interface (default: text)")
	c.Flags().StringVar(&call.filter, "filter", "", "capture only what this filter in tcpdump's language chooses (default: all)")
	c.Flags().IntVar(&call.count, "count", 0, "stop after this many frames at any interface (default: no limit)")
	c.Flags().DurationVar(&call.duration, "duration", 0, "stop after this time (default: no limit)")
	c.Flags().DurationVar(&call.wait, "wait", 0, "wait this long for the lab to come up, and stop when it goes down (default: the lab must be up)")
	return c
}

// check checks the flags against the number of interfaces.
func (k captureCall) check() error {
	switch {
	case len(k.files) != len(k.endpoints) && (len(k.files) > 0 || len(k.endpoints) > 1):
		return exit.Wrongf("%d interfaces and %d files: give -w once for each interface, as in: nines capture dut:in loadgen:rx -w pre.pcap -w post.pcap", len(k.endpoints), len(k.files))
	case k.count < 0, k.duration < 0, k.wait < 0:
		return exit.Wrongf("--count, --duration and --wait cannot be negative")
	}
	for i, file := range k.files {
		if slices.Contains(k.files[:i], file) {
			return exit.Wrongf("two interfaces would be written to %s; give each a file of its own", file)
		}
	}
	return nil
}
