package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/lab/capture"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// capturePoint is where frames are captured, and where they are written.
type capturePoint struct {
	endpoint string
	source   *capture.Capture
	sink     *captureSink
	frames   int
	err      error
}

func (k captureCall) capture(ctx context.Context, out, progress io.Writer) (err error) {
	if k.compiled, err = compileFilter(ctx, k.filter, packetfile.Ethernet); err != nil {
		return err
	}
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
			return errors.Join(err, finish(points[:i]))
		}
	}
	if k.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, k.duration)
		defer cancel()
	}
	ctx, end := context.WithCancel(ctx) // the first capture with enough frames ends all
	defer end()
	var all sync.WaitGroup
	for _, p := range points {
		all.Go(func() {
			defer end()
			p.frames, p.err = pump(ctx, p.source, p.sink, k.count)
		})
	}
	all.Wait()
	err = finish(points)
	for _, p := range points {
		p.report(progress)
		// Closing a file says again why it could not be written.
		if !errors.Is(err, p.err) && (k.wait == 0 || !errors.Is(p.err, capture.ErrEnded)) {
			err = errors.Join(err, p.err)
		}
	}
	return err
}

// finish closes what was written, which only then is in the files.
func finish(points []*capturePoint) (err error) {
	for _, p := range points {
		err = errors.Join(err, p.sink.close())
	}
	return err
}

// report says how many frames there were, how many of them the capture lost, and how many the file
// has if it does not have all.
func (p *capturePoint) report(progress io.Writer) {
	dropped, err := p.source.Dropped()
	if err != nil {
		return
	}
	terminal.Printf(progress, "%s captured at %s, %d lost", terminal.Count(p.frames, "frame"), p.endpoint, dropped)
	if kept := p.sink.kept(); kept < p.frames {
		terminal.Printf(progress, "; only %d are in %s", kept, p.sink.name)
	}
	terminal.Printf(progress, "\n")
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
		node, iface, _ := strings.Cut(spec.KernelName(endpoint), ":")
		source, err := capture.Open(running.Lab, capture.Point{Node: node, Interface: iface, Filter: k.compiled})
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
