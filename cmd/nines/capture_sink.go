package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/exit"
	"nines.dev/nines/lab/capture"
	"nines.dev/nines/terminal"
)

// captureSink is where frames go. On a terminal or pipe it is flushed after each frame, as a file
// at its end.
type captureSink struct {
	name  string
	write func(capture.Frame) error
	close func() error
	// kept is how many frames are in the file, once it is closed.
	kept func() int
}

func (k captureCall) sink(i int, out io.Writer) (*captureSink, error) {
	if i >= len(k.files) {
		return textSink(out), nil
	}
	if k.files[i] == "-" {
		if f, ok := out.(*os.File); ok && isTerminal(f) {
			return nil, exit.Wrongf("refusing to write pcap to a terminal; remove -w for text, or pipe it")
		}
		return pcapSink("standard output", out, nil)
	}
	file, err := os.Create(k.files[i])
	if err != nil {
		err = fmt.Errorf("-w: %w; name a file in a writable folder", err)
		if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
			return nil, err
		}
		return nil, exit.With(exit.Wrong, err)
	}
	return pcapSink(k.files[i], file, file)
}

func textSink(out io.Writer) *captureSink {
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
		kept:  func() int { return math.MaxInt },
	}
}

// pcapSink writes a pcap file; file is nil for a pipe, which has each frame at once.
func pcapSink(name string, out io.Writer, file *os.File) (*captureSink, error) {
	pcap, err := packetfile.NewWriter(out, packetfile.Layout{Format: packetfile.Pcap, Interfaces: []packetfile.Interface{{
		LinkType: packetfile.Ethernet, Resolution: packetfile.Nanoseconds, SnapLength: capture.SnapLength,
	}}})
	if err == nil {
		err = pcap.Flush()
	}
	if err != nil {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
		return nil, fmt.Errorf("write the capture: %w", err)
	}
	return &captureSink{
		name: name,
		write: func(f capture.Frame) error {
			err := pcap.Write(packetfile.Packet{TimeNs: f.Time.UnixNano(), Data: f.Data, Length: uint32(f.Length)})
			if err == nil && file == nil {
				err = pcap.Flush()
			}
			return err
		},
		close: func() error { return closeCapture(pcap, file) },
		kept:  func() int { return int(pcap.Written().Packets) },
	}, nil
}

// closeCapture writes what is still buffered. If the disk is full, the file ends with the last whole
// frame.
func closeCapture(pcap *packetfile.Writer, file *os.File) error {
	err := pcap.Flush()
	if file == nil {
		if errors.Is(err, unix.EPIPE) {
			err = nil
		}
		return err
	}
	if err != nil {
		if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
			err = fmt.Errorf("%w; free some space, or write elsewhere", err)
		}
		if info, failed := file.Stat(); failed == nil && info.Mode().IsRegular() {
			err = errors.Join(err, file.Truncate(pcap.Written().Bytes))
		}
	}
	return errors.Join(err, file.Close())
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
