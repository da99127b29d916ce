package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/lab/capture"
	"nines.dev/nines/terminal"
)

// captureCall holds the options of nines capture.
type captureCall struct {
	lab       string
	endpoints []string
	files     []string
	count     int
	duration  time.Duration
	wait      time.Duration
}

func newCaptureCommand() *cobra.Command {
	var call captureCall
	c := &cobra.Command{
		Use:   "capture NODE:INTERFACE [NODE:INTERFACE]",
		Short: "Capture packets at one or two interfaces of a lab",
		Long: `Capture packets at an interface of a node until Ctrl-C, --count, --duration or the end
of the node. The output is one line of text per packet, or a pcap file with nanosecond
times for Wireshark, tcpdump and nines analyze. The last line says how many frames the
capture itself lost. Two interfaces, with -w for each, give a pair of captures with one
clock, before and after what is between them.

A capture sees what the kernel's network stack handles. It does not see frames that an
XDP program or an AF_XDP socket takes off the interface, or frames that an engine sends
there through a packet socket (backends raw and ring): capture those where they arrive.
Stop the traffic before you stop the capture, or packets in flight count as lost.

Like tcpdump, -w replaces an existing file, follows a symbolic link and writes into a
pipe. So name no file in a folder that others may write to.`,
		Example: `  nines capture dut:in
  nines capture dut:in -w in.pcap --duration 10s
  nines capture loadgen:rx --count 5
  nines capture dut:in loadgen:rx -w pre.pcap -w post.pcap
  nines capture dut:in loadgen:rx -w pre.pcap -w post.pcap --wait 1m & nines run lab.yaml
  nines analyze pre.pcap post.pcap                        # of the pair
  nines capture dut:in -w - | wireshark -k -i -
  nines capture dut:in -w - | tcpdump -r - -nn`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return exit.Wrongf("name one interface as NODE:INTERFACE, or two, as in: nines capture dut:in; got %d", len(args))
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
	c.Flags().IntVar(&call.count, "count", 0, "stop after this many frames at either interface (default: no limit)")
	c.Flags().DurationVar(&call.duration, "duration", 0, "stop after this time (default: no limit)")
	c.Flags().DurationVar(&call.wait, "wait", 0, "wait this long for the lab to come up, and stop when it goes down (default: the lab must be up)")
	return c
}

// check checks the flags against the number of interfaces.
func (k captureCall) check() error {
	switch {
	case len(k.files) > len(k.endpoints), len(k.endpoints) == 2 && len(k.files) != 2:
		return exit.Wrongf("%d interfaces and %d files: give -w once for each interface, as in: nines capture dut:in loadgen:rx -w pre.pcap -w post.pcap", len(k.endpoints), len(k.files))
	case len(k.files) == 2 && k.files[0] == k.files[1]:
		return exit.Wrongf("both interfaces would be written to %s; give each a file of its own", k.files[0])
	case k.count < 0, k.duration < 0, k.wait < 0:
		return exit.Wrongf("--count, --duration and --wait cannot be negative")
	}
	return nil
}

// capturePoint is where frames are captured, and where they are written.
type capturePoint struct {
	endpoint string
	source   *capture.Capture
	sink     *captureSink
	frames   int
	err      error
}

func (k captureCall) capture(ctx context.Context, out, progress io.Writer) (err error) {
	points, err := k.open(ctx)
	defer func() {
		for _, p := range points {
			err = errors.Join(err, p.source.Close())
		}
	}()
	if err != nil {
		return err
	}
	for i, p := range points {
		if p.sink, err = k.sink(i, out); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.sink.close()) }()
	}
	if k.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, k.duration)
		defer cancel()
	}
	ctx, end := context.WithCancel(ctx) // the first capture with enough frames ends both
	defer end()
	var all sync.WaitGroup
	for _, p := range points {
		all.Go(func() {
			defer end()
			p.frames, p.err = pump(ctx, p.source, p.sink, k.count)
		})
	}
	all.Wait()
	for _, p := range points {
		if dropped, counting := p.source.Dropped(); counting == nil {
			terminal.Printf(progress, "%s captured at %s, %d lost\n", terminal.Count(p.frames, "frame"), p.endpoint, dropped)
		}
		if k.wait == 0 || !errors.Is(p.err, capture.ErrEnded) {
			err = errors.Join(err, p.err)
		}
	}
	return err
}

// open opens the interfaces; with --wait it waits for the lab.
func (k captureCall) open(ctx context.Context) ([]*capturePoint, error) {
	if k.wait == 0 {
		return k.openNow()
	}
	var points []*capturePoint
	err := await.Until(ctx, await.Condition{
		What: "the lab is up", Within: k.wait, Every: 20 * time.Millisecond,
		Holds: func(context.Context) (err error) {
			if points, err = k.openNow(); err == nil {
				return nil
			}
			for _, p := range points {
				err = errors.Join(err, p.source.Close())
			}
			points = nil
			return err
		},
	})
	return points, err
}

func (k captureCall) openNow() (points []*capturePoint, err error) {
	running, err := labByFlag(k.lab)
	if err != nil {
		return nil, err
	}
	if k.wait > 0 && !running.Finished() {
		return nil, errors.New("it is not finished")
	}
	for _, endpoint := range k.endpoints {
		node, iface, _ := strings.Cut(endpoint, ":")
		source, err := capture.Open(running.Lab, node, iface)
		if err != nil {
			return points, err
		}
		points = append(points, &capturePoint{endpoint: endpoint, source: source})
	}
	return points, nil
}

// pump copies frames until the context ends or there are enough. It still takes the frames captured
// by then, so that two captures end at the same time.
func pump(ctx context.Context, source *capture.Capture, sink *captureSink, enough int) (frames int, err error) {
	next := func() (capture.Frame, bool, error) {
		frame, err := source.Next(ctx)
		return frame, err == nil, err
	}
	var end time.Time
	for enough == 0 || frames < enough {
		frame, there, err := next()
		switch {
		case ctx.Err() != nil && end.IsZero() && !there:
			end, next = time.Now(), source.Waiting
			continue
		case err != nil:
			return frames, err
		case !there, !end.IsZero() && frame.Time.After(end):
			return frames, nil
		}
		if err := sink.write(frame); errors.Is(err, unix.EPIPE) { // the reader has closed the pipe
			return frames, nil
		} else if err != nil {
			return frames, err
		}
		frames++
	}
	return frames, nil
}

// captureSink is where frames go. On a terminal or pipe it is flushed after each frame, as a file
// at its end.
type captureSink struct {
	write func(capture.Frame) error
	close func() error
}

func (k captureCall) sink(i int, out io.Writer) (*captureSink, error) {
	if i >= len(k.files) {
		var start time.Time
		return &captureSink{
			write: func(f capture.Frame) error {
				if start.IsZero() {
					start = f.Time
				}
				_, err := terminal.Println(out, describeFrame(f, f.Time.Sub(start)))
				return err
			},
			close: func() error { return nil },
		}, nil
	}
	if k.files[i] == "-" {
		if f, ok := out.(*os.File); ok && isTerminal(f) {
			return nil, exit.Wrongf("refusing to write pcap to a terminal; remove -w for text, or pipe it")
		}
		return pcapSink(out, true, func() error { return nil })
	}
	file, err := os.Create(k.files[i])
	if err != nil {
		err = fmt.Errorf("-w: %w; name a file in a writable folder", err)
		if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
			return nil, err
		}
		return nil, exit.With(exit.Wrong, err)
	}
	return pcapSink(file, false, file.Close)
}

func pcapSink(out io.Writer, flush bool, closer func() error) (*captureSink, error) {
	pcap, err := packetfile.NewWriter(out, packetfile.Layout{Format: packetfile.Pcap, Interfaces: []packetfile.Interface{{
		LinkType: packetfile.Ethernet, Resolution: packetfile.Nanoseconds, SnapLength: capture.SnapLength,
	}}})
	if err == nil {
		err = pcap.Flush()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write the capture: %w", err), closer())
	}
	return &captureSink{
		write: func(f capture.Frame) error {
			err := pcap.Write(packetfile.Packet{TimeNs: f.Time.UnixNano(), Data: f.Data, Length: uint32(f.Length)})
			if err == nil && flush {
				err = pcap.Flush()
			}
			return err
		},
		close: func() error {
			err := pcap.Flush()
			if errors.Is(err, unix.EPIPE) {
				err = nil
			}
			return errors.Join(err, closer())
		},
	}, nil
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// describeFrame describes a frame in a line: time, direction, addresses, protocol, length.
func describeFrame(f capture.Frame, since time.Duration) string {
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
