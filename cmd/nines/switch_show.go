package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/engine/client"
)

func newSwitchShowCommand(call *switchCall) *cobra.Command {
	c := call.reader("show", "Show ports, drops by reason, and polling threads", writeSwitch)
	c.Long = `Show a switch: its ports with what they received and sent, why packets went nowhere,
and its polling threads. Of every port: received = forwarded + flooded + dropped.`
	return c
}

func newSwitchPortsCommand(call *switchCall) *cobra.Command {
	return call.reader("ports", "Show the ports and their counters", writeSwitchPorts)
}

// reader is a verb that prints the counters of a switch.
func (call *switchCall) reader(verb, short string, write func(io.Writer, client.SwitchStats) error) *cobra.Command {
	c := &cobra.Command{
		Use:   verb + " [[LAB/]LINK]",
		Short: short,
		Args:  atMostOneLink,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkFormat(call.format); err != nil {
				return err
			}
			var stats client.SwitchStats
			err := call.talk(c.Context(), strings.Join(args, ""), func(e *client.Client) (err error) {
				stats, err = e.SwitchStats()
				return err
			})
			switch {
			case err != nil:
				return err
			case call.format == "json":
				return writeJSON(c.OutOrStdout(), stats)
			}
			return write(c.OutOrStdout(), stats)
		},
	}
	c.Flags().StringVar(&call.format, "format", "table", "table or json")
	return c
}

func writeSwitchPorts(out io.Writer, stats client.SwitchStats) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PORT\tBACKEND\tVLAN\tRX\tRX BYTES\tFORWARDED\tFLOODED\tDROPPED\tTX\tTX BYTES\tTX LOST\tSTATE")
	for _, p := range stats.Ports {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", p.Port, p.Backend, vlansOf(p), p.RxPackets,
			p.RxBytes, p.Forwarded, p.Flooded, sum(p.Drops), p.TxPackets, p.TxBytes, p.TxLost, p.State)
	}
	return t.Flush()
}

func vlansOf(p client.SwitchPortStats) string {
	var parts []string
	if p.VLAN != 0 {
		parts = append(parts, fmt.Sprint(p.VLAN))
	}
	for _, v := range p.Trunk {
		parts = append(parts, fmt.Sprintf("%dt", v))
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ",")
}

func sum(counters []client.Counter) (total uint64) {
	for _, c := range counters {
		total += c.Count
	}
	return total
}

func writeSwitch(out io.Writer, stats client.SwitchStats) error {
	if err := writeSwitchPorts(out, stats); err != nil {
		return err
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, p := range stats.Ports {
		for _, c := range slices.Concat(p.Drops, p.DeviceDrops) {
			if c.Count > 0 {
				fmt.Fprintf(t, "%s\t%s\t%d\n", p.Port, c.Name, c.Count)
			}
		}
		if m := p.Mirror; m != nil {
			fmt.Fprintf(t, "%s\tmirrored to %s\t%d\n%s\tnot mirrored\t%d\n", p.Port, m.File, m.Packets, p.Port, m.Dropped)
			if m.Error != "" {
				fmt.Fprintf(t, "%s\tmirror failed\t%s\n", p.Port, m.Error)
			}
		}
	}
	for _, th := range stats.Threads {
		fmt.Fprintf(t, "thread %d\ton CPU %d\t%d gaps, the longest %s\n", th.TID, th.CPU, th.Gaps.Count,
			time.Duration(th.Gaps.MaxNs))
	}
	fmt.Fprintf(t, "addresses\tknown\t%d\n", stats.MACs)
	return t.Flush()
}
