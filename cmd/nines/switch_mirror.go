package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/engine/client"
)

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
