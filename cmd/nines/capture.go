package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"nines.dev/nines/testbed"
)

// captureCall is one call of nines capture.
type captureCall struct {
	lab      string
	endpoint string
	file     string
	count    int
	duration time.Duration
}

func newCaptureCommand() *cobra.Command {
	var call captureCall
	c := &cobra.Command{
		Use:   "capture NODE:INTERFACE",
		Short: "Capture packets at an interface of a node",
		Long: `Capture packets at an interface of a node, until Ctrl-C, --count or --duration: as
lines of text, or as a pcap file with nanosecond times for Wireshark and tcpdump.
At the end it tells how many frames the capture itself lost.

It sees what the kernel's stack handles. Frames that an XDP program or an AF_XDP
socket takes off the interface are not among them.`,
		Example: `  nines capture dut:in
  nines capture dut:in -w in.pcap --duration 10s
  nines capture loadgen:rx --count 5
  nines capture dut:in -w - | wireshark -k -i -
  nines capture dut:in -w - | tcpdump -r - -nn`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !strings.Contains(args[0], ":") {
				return usageError{errors.New("name one interface as NODE:INTERFACE, as in: nines capture dut:in")}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			call.endpoint = args[0]
			return call.capture(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.Flags().StringVar(&call.lab, "lab", "", "the lab, by name or file (default: the only one)")
	c.Flags().StringVarP(&call.file, "write", "w", "", "write a pcap file; - is standard output (default: text)")
	c.Flags().IntVar(&call.count, "count", 0, "end after so many frames (default: no limit)")
	c.Flags().DurationVar(&call.duration, "duration", 0, "end after so long (default: no limit)")
	return c
}

func (k captureCall) capture(ctx context.Context, out, progress io.Writer) (err error) {
	lab, err := openLab(k.lab)
	if err != nil {
		return err
	}
	node, iface, _ := strings.Cut(k.endpoint, ":")
	source, err := lab.Capture(node, iface)
	if err != nil {
		return err
	}
	defer source.Close()
	sink, err := k.sink(out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sink.close()) }()
	if k.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, k.duration)
		defer cancel()
	}
	frames, err := pump(ctx, source, sink, k.count)
	if dropped, counting := source.Dropped(); counting == nil {
		fmt.Fprintf(progress, "%s captured at %s, %d lost\n", count(frames, "frame"), k.endpoint, dropped)
	}
	return err
}

// pump moves frames until the context ends or there are enough.
func pump(ctx context.Context, source *testbed.Capture, sink *captureSink, enough int) (frames int, err error) {
	for enough == 0 || frames < enough {
		frame, err := source.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return frames, nil
		case err != nil:
			return frames, err
		}
		if err := sink.write(frame); err != nil {
			if errors.Is(err, unix.EPIPE) { // the reader has seen enough
				return frames, nil
			}
			return frames, err
		}
		frames++
	}
	return frames, nil
}

// captureSink is where frames go; it is flushed after each frame when somebody
// watches, at its end when it is a file.
type captureSink struct {
	write func(testbed.Frame) error
	close func() error
}

func (k captureCall) sink(out io.Writer) (*captureSink, error) {
	switch k.file {
	case "":
		var start time.Time
		return &captureSink{
			write: func(f testbed.Frame) error {
				if start.IsZero() {
					start = f.Time
				}
				_, err := fmt.Fprintln(out, describeFrame(f, f.Time.Sub(start)))
				return err
			},
			close: func() error { return nil },
		}, nil
	case "-":
		if f, ok := out.(*os.File); ok && isTerminal(f) {
			return nil, usageError{errors.New("a pcap file does not belong on a terminal; leave -w out for text, or pipe it")}
		}
		return pcapSink(out, true, func() error { return nil })
	}
	file, err := os.Create(k.file)
	if err != nil {
		return nil, fmt.Errorf("write the capture: %w", err)
	}
	return pcapSink(file, false, file.Close)
}

func pcapSink(out io.Writer, flush bool, closer func() error) (*captureSink, error) {
	buffered := bufio.NewWriterSize(out, 1<<20)
	pcap := pcapgo.NewWriterNanos(buffered)
	if err := pcap.WriteFileHeader(testbed.SnapLength, layers.LinkTypeEthernet); err != nil {
		return nil, errors.Join(fmt.Errorf("write the capture: %w", err), closer())
	}
	return &captureSink{
		write: func(f testbed.Frame) error {
			err := pcap.WritePacket(gopacket.CaptureInfo{Timestamp: f.Time, CaptureLength: len(f.Data), Length: f.Length}, f.Data)
			if err == nil && flush {
				err = buffered.Flush()
			}
			return err
		},
		close: func() error {
			err := buffered.Flush()
			if errors.Is(err, unix.EPIPE) {
				err = nil
			}
			return errors.Join(err, closer())
		},
	}, nil
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// describeFrame is a frame in a line: when, which way, who to whom, what, how long.
func describeFrame(f testbed.Frame, since time.Duration) string {
	way := "<"
	if f.Outgoing {
		way = ">"
	}
	packet := gopacket.NewPacket(f.Data, layers.LayerTypeEthernet, gopacket.DecodeOptions{Lazy: true, NoCopy: true})
	from, to, what := "?", "?", "?"
	if l := packet.LinkLayer(); l != nil {
		flow := l.LinkFlow()
		from, to, what = flow.Src().String(), flow.Dst().String(), l.LayerType().String()
	}
	if eth, ok := packet.LinkLayer().(*layers.Ethernet); ok {
		what = eth.EthernetType.String()
	}
	if n := packet.NetworkLayer(); n != nil {
		flow := n.NetworkFlow()
		from, to, what = flow.Src().String(), flow.Dst().String(), n.LayerType().String()
	}
	if t := packet.TransportLayer(); t != nil {
		flow := t.TransportFlow()
		from, to, what = from+":"+flow.Src().String(), to+":"+flow.Dst().String(), t.LayerType().String()
	} else if icmp := packet.Layer(layers.LayerTypeICMPv4); icmp != nil {
		what = icmp.(*layers.ICMPv4).TypeCode.String()
	}
	return fmt.Sprintf("%12.9f %s %s > %s %s %d bytes", since.Seconds(), way, from, to, what, f.Length)
}
