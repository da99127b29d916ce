package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/spec"
	"nines.dev/nines/testbed"
)

// switchPatience bounds one conversation with a switch, which takes one client at a
// time.
const switchPatience = 10 * time.Second

// switchCall is one call of nines switch.
type switchCall struct {
	socket string
	format string
}

func newSwitchCommand() *cobra.Command {
	var call switchCall
	c := &cobra.Command{
		Use:   "switch",
		Short: "Look into the switch of a link of the kind switch",
		Long: `Look into the learning switch of a link of the kind switch while it runs: its
ports and where their packets went, the addresses that it has learned, and a mirror
of a port into a pcap file. The link may be left out where there is only one.`,
		Example: `  nines switch show
  nines switch macs mylab/l1
  nines switch mirror mylab/l1 dut:in -w in.pcap`,
	}
	c.PersistentFlags().StringVar(&call.socket, "socket", "", "the control socket of a switch that is not of a lab")
	c.AddCommand(newSwitchShowCommand(&call), newSwitchPortsCommand(&call), newSwitchMACsCommand(&call),
		newSwitchMirrorCommand(&call))
	return c
}

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

func newSwitchMACsCommand(call *switchCall) *cobra.Command {
	c := &cobra.Command{
		Use:   "macs [[LAB/]LINK]",
		Short: "Show the addresses that the switch knows",
		Args:  atMostOneLink,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkFormat(call.format); err != nil {
				return err
			}
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
			if call.format == "json" {
				return writeJSON(c.OutOrStdout(), macs)
			}
			return writeMACs(c.OutOrStdout(), macs)
		},
	}
	c.Flags().StringVar(&call.format, "format", "table", "table or json")
	return c
}

func atMostOneLink(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError{errors.New("name one link, as LINK or LAB/LINK")}
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
		return fmt.Errorf("no switch answers; is the lab up (nines inspect)?: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = e.Close() })
	defer stop()
	err = f(e)
	_ = e.Close()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("the switch at %s did not answer for %s: it talks to one client at a time, perhaps to another", socket, switchPatience)
	}
	return err
}

// find is the control socket of a link's switch.
func (call *switchCall) find(name string) (string, error) {
	if call.socket != "" {
		if name != "" {
			return "", usageError{errors.New("give either --socket or a link")}
		}
		return call.socket, nil
	}
	labName, linkName, both := strings.Cut(name, "/")
	if !both {
		labName, linkName = "", name
	}
	lab, err := openLab(labName)
	if err != nil {
		return "", err
	}
	if linkName == "" {
		linkName = onlySwitch(lab)
	}
	return lab.SwitchSocket(linkName)
}

// onlySwitch is the link that is meant if none is named; SwitchSocket tells which there
// are if that is not clear.
func onlySwitch(lab *testbed.Lab) string {
	var names []string
	for _, l := range lab.Plan().Links {
		if l.Kind == spec.LinkSwitch {
			names = append(names, l.Name)
		}
	}
	if len(names) != 1 {
		return ""
	}
	return names[0]
}

func writeSwitchPorts(out io.Writer, stats client.SwitchStats) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PORT\tBACKEND\tVLAN\tRX\tFORWARDED\tFLOODED\tDROPPED\tTX\tTX LOST\tSTATE")
	for _, p := range stats.Ports {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", p.Port, p.Backend, vlansOf(p), p.RxPackets,
			p.Forwarded, p.Flooded, sum(p.Drops), p.TxPackets, p.TxLost, p.State)
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
		}
	}
	for _, th := range stats.Threads {
		fmt.Fprintf(t, "thread %d\ton CPU %d\t%d gaps, the longest %s\n", th.TID, th.CPU, th.Gaps.Count,
			time.Duration(th.Gaps.MaxNs))
	}
	fmt.Fprintf(t, "addresses\tknown\t%d\n", stats.MACs)
	return t.Flush()
}

func writeMACs(out io.Writer, macs []client.MAC) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MAC\tVLAN\tPORT\tHEARD")
	for _, m := range macs {
		vlan, heard := "-", "static"
		if m.VLAN != 0 {
			vlan = fmt.Sprint(m.VLAN)
		}
		if m.AgeNs >= 0 {
			heard = fmt.Sprintf("%.0f s ago", time.Duration(m.AgeNs).Seconds())
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", m.MAC, vlan, m.Port, heard)
	}
	return t.Flush()
}

// mirrorCall is one call of nines switch mirror.
type mirrorCall struct {
	*switchCall
	mirror   client.Mirror
	duration time.Duration
	wait     time.Duration
	off      bool
}

func newSwitchMirrorCommand(call *switchCall) *cobra.Command {
	m := mirrorCall{switchCall: call}
	c := &cobra.Command{
		Use:   "mirror [[LAB/]LINK] NODE:INTERFACE -w FILE",
		Short: "Copy the packets of a port into a pcap file",
		Long: `Copy the packets of a port into a pcap file with nanosecond times, until Ctrl-C or
--duration: what an optical splitter and a capture card do on a cable. Times are
those at which the switch had received a packet, or had copied it to its receiver.
Packets are whole and unchanged, so MoonSniff and nines find their ids in them. A
packet that cannot be written in time is counted, and passes unmirrored.

Two mirrors of one switch are a pair of captures by one clock, for nines analyze: what
it receives at one port, and what it has sent at another.`,
		Example: `  nines switch mirror dut:in -w in.pcap
  nines switch mirror mylab/l1 dut:in --direction rx -w in.pcap --duration 10s
  nines switch mirror mylab/l1 dut:in --direction rx -w pre.pcap --wait 1m & \
  nines switch mirror mylab/l1 dut:out --direction tx -w post.pcap --wait 1m & \
  nines run mylab.yaml
  nines switch mirror mylab/l1 dut:in --off`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 || !strings.Contains(args[len(args)-1], ":") && call.socket == "" {
				return usageError{errors.New("name a port as NODE:INTERFACE, as in: nines switch mirror mylab/l1 dut:in -w in.pcap")}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			m.mirror.Port = args[len(args)-1]
			return m.run(c.Context(), strings.Join(args[:len(args)-1], ""), c.ErrOrStderr())
		},
	}
	c.Flags().StringVarP(&m.mirror.File, "write", "w", "", "the pcap file, which is made anew")
	c.Flags().StringVar(&m.mirror.Direction, "direction", "both", "rx (what the switch receives), tx or both")
	c.Flags().IntVar(&m.mirror.Bytes, "snap", 0, "keep so many bytes of a packet (default: all)")
	c.Flags().DurationVar(&m.duration, "duration", 0, "end after so long (default: at Ctrl-C)")
	c.Flags().DurationVar(&m.wait, "wait", 0, "wait so long for the lab to come up, and end with it (default: it has to be up)")
	c.Flags().BoolVar(&m.off, "off", false, "end a mirror that a killed nines left running")
	return c
}

func (m *mirrorCall) run(ctx context.Context, name string, progress io.Writer) error {
	if m.off == (m.mirror.File != "") {
		return usageError{errors.New("say where to write with -w FILE, or --off to end a mirror")}
	}
	if m.off {
		return m.end(ctx, name, progress)
	}
	file, err := filepath.Abs(m.mirror.File)
	if err != nil {
		return err
	}
	if err := checkCaptureFile(file); err != nil {
		return err
	}
	m.mirror.File = file
	if err := m.begin(ctx, name); err != nil {
		return err
	}
	if m.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, m.duration)
		defer cancel()
	}
	if m.wait > 0 && m.outlived(ctx, name) {
		fmt.Fprintf(progress, "the lab went down, and the mirror of %s ended with it\n", m.mirror.Port)
		return nil
	}
	<-ctx.Done()
	return m.end(context.WithoutCancel(ctx), name, progress)
}

// mirrorLook is how often a mirror looks whether there is a switch.
const mirrorLook = 50 * time.Millisecond

// begin has the switch begin, once there is one if that is to be waited for.
func (m *mirrorCall) begin(ctx context.Context, name string) error {
	for until := time.Now().Add(m.wait); ; {
		err := m.talk(ctx, name, func(e *client.Client) error {
			_, err := m.tell(e)
			return err
		})
		switch {
		case err == nil, m.wait == 0:
			return err
		case !time.Now().Before(until):
			return fmt.Errorf("waited %s for the switch: %w", m.wait, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(mirrorLook):
		}
	}
}

// outlived waits for the end of the lab, or of the context; true for the lab's.
func (m *mirrorCall) outlived(ctx context.Context, name string) bool {
	socket, err := m.find(name)
	for err == nil {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(mirrorLook):
		}
		_, err = os.Stat(socket)
	}
	return true
}

// end ends the mirror, after Ctrl-C, too.
func (m *mirrorCall) end(ctx context.Context, name string, progress io.Writer) error {
	m.mirror.File = ""
	return m.talk(ctx, name, func(e *client.Client) error {
		ended, err := m.tell(e)
		if err == nil {
			fmt.Fprintf(progress, "%s mirrored at %s, %d lost\n", count(int(ended.Packets), "packet"), m.mirror.Port, ended.Dropped)
		}
		return err
	})
}

// tell gives the switch the mirror, if it has the port.
func (m *mirrorCall) tell(e *client.Client) (client.MirrorStats, error) {
	stats, err := e.SwitchStats()
	if err == nil {
		err = checkPort(m.mirror.Port, stats.Ports)
	}
	if err != nil {
		return client.MirrorStats{}, err
	}
	return e.Mirror(m.mirror)
}

// checkPort refuses a port that the switch does not have.
func checkPort(port string, ports []client.SwitchPortStats) error {
	var names []string
	for _, p := range ports {
		if p.Port == port {
			return nil
		}
		names = append(names, p.Port)
	}
	if len(names) == 0 {
		return usageError{fmt.Errorf("the switch has no port %q, as it has none yet", port)}
	}
	return usageError{fmt.Errorf("the switch has no port %q; it has %s", port, strings.Join(names, ", "))}
}

// checkCaptureFile refuses what the switch would not write to.
func checkCaptureFile(file string) error {
	info, err := os.Stat(file)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return usageError{fmt.Errorf("%s is no ordinary file; name one, or one that is not there yet", file)}
	case errors.Is(err, fs.ErrNotExist):
		if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
			return usageError{fmt.Errorf("there is no folder %s to write to; make it, or name a file elsewhere", filepath.Dir(file))}
		}
	}
	return nil
}
