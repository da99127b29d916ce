package ipmi

import (
	"context"
	"testing"

	"github.com/bougou/go-ipmi/pkg/rmcpplus"
	"github.com/bougou/go-ipmi/pkg/types"
)

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithCancel(t.Context())
}

// longName is a RAKP message 1 whose name wraps a uint8 around, before any password.
func longName() []byte {
	message := make([]byte, 300)
	message[27] = 250
	return message
}

// go-ipmi panics for what read refuses; if it no longer does, doc.go says too much.
func TestGoIPMIStillPanicsForALongName(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("go-ipmi no longer panics for it: correct doc.go")
		}
	}()
	_ = new(rmcpplus.RAKPMessage1).Unpack(longName())
}

// A packet that is beyond go-ipmi does not end the program, and the next is answered.
func TestAPanicIsSurvived(t *testing.T) {
	m := &machines{}
	port := newPort(t, m)
	c := newConsole(port)
	if !c.login(t) {
		t.Fatal("no session")
	}
	machine := port.config.Control
	port.config.Control = nil // a request for the state panics
	if answer := c.send(c.command(t, 0, 1)); answer != nil {
		t.Errorf("a panic is answered with %x", answer)
	}
	port.config.Control = machine
	if code := c.control(t, 3); code != types.CodeOK {
		t.Error(code)
	}
}

// FuzzPacket: no packet of a stranger ends the program, not even without the net of handle.
func FuzzPacket(f *testing.F) {
	port := newPort(f, &machines{})
	c := newConsole(port)
	if !c.login(f) {
		f.Fatal("no session")
	}
	f.Add(wrap(types.PayloadTypeRAKPMessage1, longName()))
	f.Add(wrap(types.PayloadTypeRAKPMessage3, make([]byte, 8)))
	f.Add(wrap(types.PayloadTypeRmcpOpenSessionRequest, make([]byte, 32)))
	f.Add(wrap(types.PayloadTypeIPMI, []byte{0x20, 0x18, 0, 0x81, 0, 0x38, 0x8e, 4, 0}))
	f.Add(wrapOld([]byte{0x20, 0x18, 0, 0x81, 0, 0x38, 0x8e, 4, 0}))
	f.Add([]byte{6, 0, 0xff, 6, 0, 0, 0x11, 0xbe, 0x80, 7, 0, 0})
	f.Add(c.command(f, 0, 1))
	f.Fuzz(func(t *testing.T, packet []byte) {
		port.answer("127.0.0.2", packet, c.now)
		if n := len(port.sessions.known); n > mostPending+mostActive {
			t.Errorf("%d sessions", n)
		}
	})
}

// FuzzCommand: no command of someone who has the password does, either.
func FuzzCommand(f *testing.F) {
	port := newPort(f, &machines{})
	c := newConsole(port)
	for _, command := range [][]byte{
		{0x20, 0x00, 0, 0x81, 4, 1, 0}, {0x20, 0x00, 0, 0x81, 4, 2, 3, 0}, {0x20, 0x00, 0, 0x81, 4, 8, 5, 0x80, 4, 0, 0, 0, 0},
		{0x20, 0x00, 0, 0x81, 4, 9, 5, 0, 0, 0}, {0x20, 0x18, 0, 0x81, 4, 0x3c, 1, 2, 3, 4, 0}, {0x20, 0x18, 0, 0x81, 4, 0x3d, 0, 0}, {0x20, 0x18, 0, 0x81, 4, 0x3b, 4, 0},
	} {
		f.Add(command, true)
		f.Add(command, false)
	}
	f.Fuzz(func(t *testing.T, plain []byte, encrypted bool) {
		if port.sessions.of(sessionOf(c), c.source) == nil && !c.login(t) {
			t.Fatal("no session")
		}
		if len(plain) > 300 {
			return
		}
		packet := []byte(nil)
		if encrypted {
			packet = c.sealed(t, plain)
		} else {
			packet = c.authentic(t, plain)
		}
		port.answer(c.source, packet, c.now)
		// A number that was not taken leaves the next too far ahead.
		if s := port.sessions.of(sessionOf(c), c.source); s != nil {
			c.number = s.number
		}
	})
}

func sessionOf(c *console) uint32 {
	if c.session == nil {
		return 0
	}
	return c.session.BMCID
}
