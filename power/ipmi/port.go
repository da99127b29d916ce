package ipmi

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/clock"
	"github.com/bougou/go-ipmi/pkg/handlers"
	"github.com/bougou/go-ipmi/pkg/types"

	"nines.dev/nines/power"
)

// Config is what the ports of a lab share.
type Config struct {
	Control        *power.Controller
	Guard          *power.Guard
	User, Password string
	// Say receives a line for each packet that could not be handled.
	Say func(string)
}

// Port is the management controller of one node. One goroutine reads its packets and answers them.
type Port struct {
	node     string
	config   Config
	bmc      *bmc.BMC
	commands *handlers.Registry
	sessions sessions
	// by is who asks for the command that is handled.
	by string
	// said is when a packet was last said to be beyond us.
	said time.Time
}

// NewPort returns the controller of a node.
func NewPort(node string, config Config) (*Port, error) {
	p := &Port{node: node, config: config}
	// The node's name identifies it, so that a client knows it again after a restart.
	id := sha256.Sum256([]byte("nines power " + node))
	info := bmc.DeviceInfo{DeviceID: 0x20, DeviceRevision: 1, FirmwareMajor: 1, IPMIVersion: 0x20}
	p.bmc = bmc.New(info, [16]byte(id[:16]), machine{p},
		bmc.WithCipherSuites([]types.CipherSuiteID{types.CipherSuiteID3, types.CipherSuiteID17}), bmc.WithV15Disabled())
	p.bmc.Sessions = bmc.NewSessionStoreWithOptions(clock.Real, bmc.WithMaxSessions(mostPending+mostActive))
	p.sessions = newSessions(p.bmc.Sessions)
	err := p.bmc.Users.Update(1, func(u *bmc.User) error { u.Enabled = false; return nil }) // nobody without a name
	if err != nil {
		return nil, fmt.Errorf("disable the nameless user: %w", err)
	}
	user, err := p.bmc.Users.Add(2, config.User)
	if err != nil {
		return nil, fmt.Errorf("user %q: %w", config.User, err)
	}
	user.SetPassword([]byte(config.Password))
	user.Enabled = true
	user.ChannelAccess[lanChannel] = bmc.UserChannelAccess{MaxPrivilege: bmc.PrivilegeLevelAdministrator, Enabled: true}
	p.commands = p.registry()
	return p, nil
}

// Serve answers the packets of a socket until ctx ends.
func (p *Port) Serve(ctx context.Context, conn net.PacketConn) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	buffer := make([]byte, longestPacket+1)
	for {
		n, from, err := conn.ReadFrom(buffer)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("IPMI of node %s: %w", p.node, err)
		case err != nil:
			continue // such as a client that no longer listens (ECONNREFUSED)
		}
		if answer := p.handle(power.Source(from, conn.LocalAddr()), buffer[:n], time.Now()); answer != nil {
			_, _ = conn.WriteTo(answer, from) // a client that gets none asks again
		}
	}
}

// handle answers a packet; nil for one that gets no answer. It survives what go-ipmi does not.
func (p *Port) handle(source string, packet []byte, now time.Time) (answer []byte) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		answer = nil
		if now.Sub(p.said) >= time.Minute {
			p.said = now
			p.config.Say(fmt.Sprintf("node %s: a packet of %d bytes from %s made the IPMI server fail, and was dropped: %v\n%s", p.node, len(packet), source, r, debug.Stack()))
		}
	}()
	return p.answer(source, packet, now)
}

// answer is handle without the net below it.
func (p *Port) answer(source string, packet []byte, now time.Time) []byte {
	m, ok := read(packet)
	if !ok {
		return nil
	}
	p.sessions.expire(now, p.guessed(now))
	switch m.kind {
	case presencePing:
		return m.pong()
	case discovery:
		return p.discover(m)
	case openSession:
		return p.open(source, m, now)
	case rakp1:
		return p.rakp1(source, m, now)
	case rakp3:
		return p.rakp3(source, m, now)
	case inSession:
		return p.command(source, m, packet, now)
	}
	return nil
}
