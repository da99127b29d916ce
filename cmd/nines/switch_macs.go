package main

import (
	"cmp"
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

func newSwitchMACsCommand(call *switchCall) *cobra.Command {
	c := &cobra.Command{
		Use:   "macs [[LAB/]LINK]",
		Short: "Show the MAC addresses that the switch has learned",
		Args:  atMostOneLink,
		RunE: func(c *cobra.Command, args []string) error {
			var macs []client.MAC
			err := call.talk(c.Context(), strings.Join(args, ""), func(e *client.Client) (err error) {
				macs, err = e.MACs()
				return err
			})
			if err != nil {
				return err
			}
			slices.SortFunc(macs, func(a, b client.MAC) int {
				return cmp.Or(cmp.Compare(a.VLAN, b.VLAN), cmp.Compare(a.MAC, b.MAC))
			})
			return command.PrintAs(c.OutOrStdout(), call.format, macs, writeMACs)
		},
	}
	command.FormatFlag(c, &call.format)
	return c
}

func writeMACs(out io.Writer, macs []client.MAC) error {
	t := &terminal.Table{}
	t.Row("MAC", "VLAN", "PORT", "HEARD")
	for _, m := range macs {
		vlan, heard := "-", "static"
		if m.VLAN != 0 {
			vlan = fmt.Sprint(m.VLAN)
		}
		if m.AgeNs >= 0 {
			heard = fmt.Sprintf("%.0f s ago", time.Duration(m.AgeNs).Seconds())
		}
		t.Row(m.MAC, vlan, m.Port, heard)
	}
	return t.Write(out, terminal.Style{})
}
