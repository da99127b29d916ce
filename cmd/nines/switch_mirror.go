package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// mirrorCall holds the options of nines switch mirror.
type mirrorCall struct {
	*switchCall
	mirror   client.Mirror
	id       int64 // of the mirror that begin started; 0: any
	duration time.Duration
	wait     time.Duration
	off      bool
}

func newSwitchMirrorCommand(call *switchCall) *cobra.Command {
	m := mirrorCall{switchCall: call}
	c := &cobra.Command{
		Use:   "mirror [[LAB/]LINK] NODE:INTERFACE -w FILE",
		Short: "Copy the packets of a port to a pcap file",
		Long: `Copy the packets of a port to a pcap file with nanosecond times, until Ctrl-C or
--duration: what an optical splitter and a capture card do on a cable. The time of a
packet is when the switch had received it, or had copied it to its receiver. Packets are
complete and unchanged, so MoonSniff and nines find their ids. A packet that cannot be
written in time is counted and forwarded without a copy. A port has one mirror at a
time, and a file belongs to one mirror.

Two mirrors of one switch are a pair of captures with one clock, for nines analyze: what
the switch receives at one port, and what it sends at another.`,
		Example: `  nines switch mirror dut:in -w in.pcap
  nines switch mirror mylab/l1 dut:in --direction rx -w in.pcap --duration 10s
  nines switch mirror mylab/l1 dut:in --direction rx -w pre.pcap --wait 1m & \
  nines switch mirror mylab/l1 dut:out --direction tx -w post.pcap --wait 1m & \
  nines run mylab.yaml
  nines switch mirror mylab/l1 dut:in --off`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 || !strings.Contains(args[len(args)-1], ":") && call.socket == "" {
				return exit.Wrongf("name a port as NODE:INTERFACE, as in: nines switch mirror mylab/l1 dut:in -w in.pcap")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if m.mirror.Port = args[len(args)-1]; m.socket == "" { // of a lab, whose ports have the kernel's names
				m.mirror.Port = spec.KernelName(m.mirror.Port)
			}
			return m.run(c.Context(), strings.Join(args[:len(args)-1], ""), c.ErrOrStderr())
		},
	}
	c.Flags().StringVarP(&m.mirror.File, "write", "w", "", "the pcap file to write; an existing file is replaced")
	c.Flags().StringVar(&m.mirror.Direction, "direction", "both", "rx (what the switch receives), tx or both")
	c.Flags().IntVar(&m.mirror.Bytes, "snap", 0, "keep only this many bytes of each packet (default: all)")
	c.Flags().DurationVar(&m.duration, "duration", 0, "stop after this time (default: at Ctrl-C)")
	c.Flags().DurationVar(&m.wait, "wait", 0, "wait this long for the lab to come up, and stop when it goes down (default: the lab must be up)")
	c.Flags().BoolVar(&m.off, "off", false, "end a mirror that a killed nines left behind")
	return c
}

func (m *mirrorCall) run(ctx context.Context, name string, progress io.Writer) error {
	if err := m.check(); err != nil {
		return exit.With(exit.Wrong, err)
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
	if m.outlived(ctx) {
		terminal.Printf(progress, "the lab went down, and the mirror of %s ended with it\n", m.mirror.Port)
		return nil
	}
	return m.end(context.WithoutCancel(ctx), "", progress)
}

// mirrorSnapMax is how many bytes a mirror keeps of a packet at most: MIRROR_SNAP_MAX in
// engine/switch/mirror.h.
const mirrorSnapMax = 65535

var mirrorDirections = []string{"rx", "tx", "both"}

// check checks the flags before anything else happens.
func (m *mirrorCall) check() error {
	switch {
	case m.off == (m.mirror.File != ""):
		return errors.New("say where to write with -w FILE, or --off to end a mirror")
	case !slices.Contains(mirrorDirections, m.mirror.Direction):
		return fmt.Errorf("unknown --direction %q; allowed: %s", m.mirror.Direction, strings.Join(mirrorDirections, ", "))
	case m.mirror.Bytes < 0 || m.mirror.Bytes > mirrorSnapMax:
		return fmt.Errorf("--snap %d: write how many bytes of a packet to keep, up to %d, or 0 for all", m.mirror.Bytes, mirrorSnapMax)
	case m.duration < 0 || m.wait < 0:
		return errors.New("--duration and --wait cannot be negative")
	}
	return nil
}

// mirrorLook is how often a mirror checks whether there is a switch.
const mirrorLook = 50 * time.Millisecond

// begin starts the mirror on the switch; with --wait it waits until there is one. From then on it
// uses that switch, even if other labs come up.
func (m *mirrorCall) begin(ctx context.Context, name string) error {
	return await.Until(ctx, await.Condition{What: "the switch is up", Within: m.wait, Every: mirrorLook, Holds: func(context.Context) error {
		socket, err := m.find(name)
		if err == nil {
			found := &switchCall{socket: socket}
			if err = found.talk(ctx, "", m.tell); err == nil {
				m.switchCall = found
			}
		}
		// A switch that is still starting also refuses, but before the mirror command.
		refused := new(client.Error)
		if final := errors.As(err, &refused) && refused.Command == "mirror"; final || m.wait == 0 {
			return await.Never(err)
		}
		return err
	}})
}

// tell sends the mirror command, if the switch has the port.
func (m *mirrorCall) tell(e *client.Client) (err error) {
	if err = m.hasPort(e); err == nil {
		m.id, err = e.Mirror(m.mirror)
	}
	return err
}

// outlived waits for the end of the switch or of the context; true if the switch ended.
func (m *mirrorCall) outlived(ctx context.Context) bool {
	ended := await.Condition{What: "the switch has ended", Every: mirrorLook, Holds: func(context.Context) error {
		_, err := os.Stat(m.socket)
		return await.Answer(err != nil, nil)
	}}
	return await.Until(ctx, ended) == nil
}

// end ends the mirror, also after Ctrl-C: its own, or with --off any mirror of the port.
func (m *mirrorCall) end(ctx context.Context, name string, progress io.Writer) error {
	return m.talk(ctx, name, func(e *client.Client) error {
		if err := m.hasPort(e); err != nil {
			return err
		}
		ended, err := e.EndMirror(m.mirror.Port, m.id)
		if err != nil {
			return err
		}
		terminal.Printf(progress, "%s mirrored at %s, %d lost\n", terminal.Count(int(ended.Packets), "packet"), m.mirror.Port, ended.Dropped)
		return nil
	})
}

// hasPort refuses a port that the switch does not have.
func (m *mirrorCall) hasPort(e *client.Client) error {
	stats, err := e.SwitchStats()
	if err != nil {
		return err
	}
	return checkPort(m.mirror.Port, stats.Ports)
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
		return exit.Wrongf("the switch has no port %q; it has no ports yet", port)
	}
	return exit.Wrongf("the switch has no port %q; %s", port, terminal.Choose(port, "it has", names))
}

// checkCaptureFile refuses a file that the switch could not write to.
func checkCaptureFile(file string) error {
	info, err := os.Stat(file)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return exit.Wrongf("%s is not a regular file; name a regular file or a new one", file)
	case errors.Is(err, fs.ErrNotExist):
		if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
			return exit.Wrongf("the folder %s does not exist; make it, or name another file", filepath.Dir(file))
		}
	}
	return nil
}
