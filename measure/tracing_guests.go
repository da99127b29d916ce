package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/measure/trace"
)

// guestPatience is how long a guest may take to load the programs: an emulated one needs some seconds of CPU time, on a
// host that may be busy.
const guestPatience = 3 * time.Minute

// guestTracer follows a trial's packets through the kernel of a virtual machine. What keeps it from that is a note of the
// trial, which is measured all the same.
type guestTracer struct {
	node    string
	command *exec.Cmd
	input   io.WriteCloser
	answers *json.Decoder
	said    bytes.Buffer // its errors
	cancel  context.CancelFunc
}

// followGuests begins in all virtual machines of a run at once: loading the programs takes an emulated guest some seconds.
func (t *tracer) followGuests(ctx context.Context, s *trace.Stages) {
	machines := virtualMachines(t.run.plan)
	if s == nil || len(machines) == 0 {
		return
	}
	begun := make(chan *guestTracer)
	for _, name := range machines {
		go func() {
			g, err := t.bench.followGuest(ctx, trace.Inside{Node: name, UDPPort: s.UDPPort, IP: s.IP, Every: s.Every})
			if err != nil {
				t.noteGuest("the stages in the guest %s are not known: %v", name, err)
			}
			begun <- g
		}()
	}
	for range machines {
		if g := <-begun; g != nil {
			t.guests = append(t.guests, g)
		}
	}
	slices.SortFunc(t.guests, func(a, b *guestTracer) int { return strings.Compare(a.node, b.node) })
	for _, why := range t.bench.lab.Untimed() {
		t.noteGuest("stages in a guest: %s", why)
	}
}

// followGuest begins in one, and returns when it follows packets.
func (b *bench) followGuest(ctx context.Context, asked trace.Inside) (_ *guestTracer, err error) {
	ctx, cancel := context.WithCancel(ctx)
	g := &guestTracer{node: asked.Node, cancel: cancel}
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	if g.command, err = b.lab.InsideCommand(ctx, asked.Node, trace.GuestVerb); err != nil {
		return nil, err
	}
	g.command.Stderr = &g.said
	if g.input, err = g.command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := g.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := g.command.Start(); err != nil {
		return nil, err
	}
	g.answers = json.NewDecoder(output)
	patience := time.AfterFunc(guestPatience, cancel)
	defer patience.Stop()
	if err := errors.Join(json.NewEncoder(g.input).Encode(asked), g.answers.Decode(&struct{}{})); err != nil {
		return nil, g.failed(err)
	}
	return g, nil
}

// end ends it, and returns what it saw.
func (g *guestTracer) end() (f trace.Followed, err error) {
	defer g.cancel()
	patience := time.AfterFunc(guestPatience, g.cancel)
	defer patience.Stop()
	if err := errors.Join(g.input.Close(), g.answers.Decode(&f)); err != nil {
		return f, g.failed(err)
	}
	return f, g.command.Wait()
}

// failed is why it ended: what it said, or else the error.
func (g *guestTracer) failed(err error) error {
	g.cancel()
	_ = g.input.Close()
	waited := g.command.Wait()
	if said := strings.TrimSpace(g.said.String()); said != "" {
		return errors.New(strings.TrimPrefix(said, "nines-node: "))
	}
	return errors.Join(fmt.Errorf("its answer: %w", err), waited)
}

// noteGuest notes what a reader of the stages in guests has to know.
func (t *tracer) noteGuest(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.guestNotes = append(t.guestNotes, fmt.Sprintf(format, args...))
}

// unfollowGuests ends all, and returns what they saw.
func (t *tracer) unfollowGuests() (all []trace.Followed) {
	for _, g := range t.guests {
		f, err := g.end()
		if err != nil {
			t.noteGuest("the stages in the guest %s are not known: %v", g.node, err)
			continue
		}
		for _, kind := range f.Missing {
			t.noteGuest("not recorded in the guest %s: %s", g.node, kind)
		}
		all = append(all, f)
	}
	t.guests = nil
	return all
}
