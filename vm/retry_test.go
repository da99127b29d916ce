package vm

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// guest boots at the attempt comesUp, and not before; 0 is never.
type guest struct {
	comesUp        int
	starts, ends   int
	said           []string
	failure, ended error
}

func (g *guest) start(ctx context.Context) error {
	g.starts++
	switch {
	case g.failure != nil:
		return g.failure
	case g.starts == g.comesUp:
		return nil
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

func (g *guest) boot(ctx context.Context, p Patience) error {
	return p.Boot(ctx, func(text string) { g.said = append(g.said, text) }, g.start, func() error { g.ends++; return g.ended })
}

func TestAGuestThatDoesNotComeUpIsBootedAgain(t *testing.T) {
	const short = 5 * time.Millisecond
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		guest        guest
		attempts     int
		starts, ends int
		ok           bool
	}{
		"at once":                      {guest{comesUp: 1}, 3, 1, 0, true},
		"the third time":               {guest{comesUp: 3}, 3, 3, 2, true},
		"never":                        {guest{}, 3, 3, 2, false},
		"one attempt only":             {guest{}, 1, 1, 0, false},
		"an error is no late guest":    {guest{failure: broken}, 3, 1, 0, false},
		"the last one cannot be ended": {guest{ended: broken}, 3, 1, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := test.guest
			err := g.boot(t.Context(), slices.Repeat(Patience{short}, test.attempts))
			if (err == nil) != test.ok || g.starts != test.starts || g.ends != test.ends {
				t.Errorf("%d starts, %d ends, %v", g.starts, g.ends, err)
			}
			if g.ended == nil && len(g.said) != g.ends {
				t.Errorf("said: %q", g.said)
			}
		})
	}
}

func TestAQEMUThatBrokeDownIsStartedAgain(t *testing.T) {
	for failure, starts := range map[DiedError]int{
		{Said: "qemu-system-x86_64: system/physmem.c:1: f: Assertion `x' failed."}: 3,
		{}: 3,
		{Said: "qemu-system-x86_64: warning: hub 0 is not connected to host network"}:                                                3,
		{Said: "qemu-system-x86_64: -device igb: no such device"}:                                                                    1,
		{Console: "[ 4.7] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI\n[ 4.7] Kernel panic - not syncing: Fatal exception in interrupt"}: 3,
		{Console: "[ 4.7] Kernel panic - not syncing: VFS: Unable to mount root fs"}:                                                 1,
	} {
		g := guest{failure: &failure}
		if err := g.boot(t.Context(), Patience{time.Minute, time.Minute, time.Minute}); err == nil || g.starts != starts || len(g.said) != starts-1 {
			t.Errorf("%+v: %d starts, said %q, %v", failure, g.starts, g.said, err)
		}
	}
}

func TestCtrlCEndsTheBoot(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(5*time.Millisecond, cancel)
	g := guest{}
	if err := g.boot(ctx, Patience{time.Minute, time.Minute}); !errors.Is(err, context.Canceled) || g.starts != 1 || g.ends != 0 {
		t.Errorf("%d starts, %d ends, %v", g.starts, g.ends, err)
	}
}

func TestOnlyTranslatedGuestsAreBootedAgain(t *testing.T) {
	if got := BootPatience(KVM, 4*time.Minute); !slices.Equal(got, Patience{4 * time.Minute}) {
		t.Errorf("KVM: %v", got)
	}
	if got := BootPatience(TCG, 4*time.Minute); len(got) != 3 || got[0] >= got[2] || got[2] != 4*time.Minute {
		t.Errorf("TCG: %v", got)
	}
}
