package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/exit"
	"nines.dev/nines/lab"
)

// switchPatience limits one conversation with a switch, which serves one client at a time.
const switchPatience = 10 * time.Second

// switchCall holds the options of nines switch.
type switchCall struct {
	socket string
	format string
}

func newSwitchCommand() *cobra.Command {
	var call switchCall
	c := &cobra.Command{
		Use:   "switch",
		Short: "Show the ports, addresses and mirrors of a switch",
		Long: `Look into a running switch (link kind switch): its ports and where their packets went,
the MAC addresses it has learned, and a mirror of a port to a pcap file. You may omit
the link if there is only one.`,
		Example: `  nines switch show
  nines switch macs mylab/l1
  nines switch mirror mylab/l1 dut:in -w in.pcap`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.PersistentFlags().StringVar(&call.socket, "socket", "", "control socket of a switch that does not belong to a lab")
	c.AddCommand(newSwitchShowCommand(&call), newSwitchPortsCommand(&call), newSwitchMACsCommand(&call),
		newSwitchMirrorCommand(&call))
	return c
}

func atMostOneLink(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return exit.Wrongf("name one link, as LINK or LAB/LINK")
	}
	return nil
}

// talk has one conversation with the switch of a link.
func (call *switchCall) talk(ctx context.Context, name string, f func(*client.Client) error) error {
	socket, err := call.find(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, switchPatience)
	defer cancel()
	e, err := client.Dial(ctx, socket)
	if err != nil {
		return fmt.Errorf("no switch answers; check that the lab is up (nines inspect): %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = e.Close() })
	defer stop()
	err = f(e)
	_ = e.Close()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("the switch at %s did not answer for %s: it serves one client at a time, and another may be connected", socket, switchPatience)
	}
	return err
}

// find returns the control socket of a link's switch.
func (call *switchCall) find(name string) (string, error) {
	if call.socket != "" {
		if name != "" {
			return "", exit.Wrongf("give either --socket or a link")
		}
		return call.socket, nil
	}
	labName, linkName, both := strings.Cut(name, "/")
	if !both {
		labName, linkName = "", name
	}
	running, err := openLab(labName)
	if err != nil {
		return "", err
	}
	if linkName == "" {
		linkName = onlySwitch(running)
	}
	return running.SwitchSocket(linkName)
}

// onlySwitch returns the link to use if none is named; if there are several, the error of
// SwitchSocket lists them.
func onlySwitch(running *lab.Lab) string {
	var names []string
	for _, l := range running.Plan().Links {
		if l.HasEngine() {
			names = append(names, l.Name)
		}
	}
	if len(names) != 1 {
		return ""
	}
	return names[0]
}
