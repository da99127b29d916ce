package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

func newSwitchShowCommand(call *switchCall) *cobra.Command {
	c := call.reader("show", "Show ports, drops by reason, and polling threads", writeSwitch)
	c.Long = `Show a switch: its ports with what they received and sent, drops by reason, and its
polling threads. For every port that is not impaired, received = forwarded +
flooded + dropped.`
	return c
}

func newSwitchPortsCommand(call *switchCall) *cobra.Command {
	return call.reader("ports", "Show the ports and their counters", writeSwitchPorts)
}

// reader returns a verb that prints the counters of a switch.
func (call *switchCall) reader(verb, short string, write func(io.Writer, client.SwitchStats) error) *cobra.Command {
	c := &cobra.Command{
		Use:   verb + " [[LAB/]LINK]",
		Short: short,
		Args:  atMostOneLink,
		RunE: func(c *cobra.Command, args []string) error {
			var stats client.SwitchStats
			err := call.talk(c.Context(), strings.Join(args, ""), func(e *client.Client) (err error) {
				stats, err = e.SwitchStats()
				return err
			})
			if err != nil {
				return err
			}
			return command.PrintAs(c.OutOrStdout(), call.format, stats, write)
		},
	}
	command.FormatFlag(c, &call.format)
	return c
}

func writeSwitchPorts(out io.Writer, stats client.SwitchStats) error {
	t := &terminal.Table{}
	t.Row("PORT", "BACKEND", "VLAN", "RX", "RX BYTES", "FORWARDED", "FLOODED", "DROPPED", "TX", "TX BYTES", "TX LOST", "STATE")
	for _, p := range stats.Ports {
		t.Row(p.Port, p.Backend, vlansOf(p), p.RxPackets,
			p.RxBytes, p.Forwarded, p.Flooded, sum(p.Drops), p.TxPackets, p.TxBytes, p.TxLost, p.State)
	}
	return t.Write(out, terminal.Style{})
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
	t := &terminal.Table{}
	for _, p := range stats.Ports {
		for _, c := range slices.Concat(p.Drops, p.DeviceDrops) {
			if c.Count > 0 {
				t.Row(p.Port, c.Name, c.Count)
			}
		}
		if m := p.Mirror; m != nil {
			t.Row(p.Port, "mirrored to "+m.File, m.Packets)
			t.Row(p.Port, "not mirrored", m.Dropped)
			if m.Error != "" {
				t.Row(p.Port, "mirror failed", m.Error)
			}
		}
	}
	for _, th := range stats.Threads {
		t.Row(fmt.Sprint("thread ", th.TID), fmt.Sprint("on CPU ", th.CPU),
			fmt.Sprintf("%d gaps, the longest %s", th.Gaps.Count, time.Duration(th.Gaps.MaxNs)))
	}
	t.Row("addresses", "known", stats.MACs)
	return t.Write(out, terminal.Style{})
}
