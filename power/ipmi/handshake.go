package ipmi

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/bougou/go-ipmi/pkg/handlers"
	"github.com/bougou/go-ipmi/pkg/protocol"
	"github.com/bougou/go-ipmi/pkg/types"
)

// A client begins a session with three messages, each of which is answered (IPMI 2.0, 13.14):
//
//	open session ─▸ a number for the session, and the algorithms
//	RAKP 1       ─▸ RAKP 2, with a hash of the password
//	RAKP 3       ─▸ RAKP 4, if its hash shows that the client has the password
//
// A source that has to wait for its wrong passwords gets no answer, as if the packets were lost.

// discover answers a stranger's question what there is.
func (p *Port) discover(m message) []byte {
	netFn, command, data, number, ok := protocol.ParseIPMIRequest(m.payload)
	if !ok {
		return nil
	}
	data, code, _ := p.commands.Dispatch(context.Background(), &handlers.HandlerContext{BMC: p.bmc}, netFn, command, data)
	answer := protocol.BuildIPMIResponse(netFn, command, number, uint8(code), data)
	if m.old {
		return wrapOld(answer)
	}
	return wrap(types.PayloadTypeIPMI, answer)
}

// guessed tells that a source had a wrong password.
func (p *Port) guessed(now time.Time) func(source string) {
	return func(source string) { p.config.Guard.Wrong(source, now) }
}

func (p *Port) open(source string, m message, now time.Time) []byte {
	if p.config.Guard.Wait(source, now) > 0 {
		return nil
	}
	p.sessions.makeRoom(source, p.guessed(now))
	answer, err := handlers.HandleOpenSession(context.Background(), p.bmc, m.payload)
	if err != nil || answer == nil {
		return nil
	}
	if len(answer) >= 12 && answer[1] == byte(types.RmcpStatusCodeNoErrors) {
		p.sessions.add(binary.LittleEndian.Uint32(answer[8:12]), source, now)
	}
	return wrap(types.PayloadTypeRmcpOpenSessionResponse, answer)
}

func (p *Port) rakp1(source string, m message, now time.Time) []byte {
	s := p.sessions.of(m.about(), source)
	// The hash tells the client whether its password is right, so it counts as an attempt: clients with a wrong one send
	// no third message.
	if s == nil || s.active || !s.hashed && p.config.Guard.Begin(source, now) > 0 {
		return nil
	}
	s.hashed = true
	answer, err := handlers.HandleRAKP1(context.Background(), p.bmc, m.payload)
	if err != nil || len(answer) < 2 {
		return nil
	}
	if answer[1] != byte(types.RmcpStatusCodeNoErrors) {
		p.sessions.end(m.about())
		p.config.Guard.Wrong(source, now)
	}
	return wrap(types.PayloadTypeRAKPMessage2, answer)
}

func (p *Port) rakp3(source string, m message, now time.Time) []byte {
	id := m.about()
	s := p.sessions.of(id, source)
	// A session that is confirmed is not confirmed again: a wrong message would end it. The attempt was counted with its
	// hash, so that it has no pause of its own.
	if s == nil || s.active || !s.hashed {
		return nil
	}
	answer, err := handlers.HandleRAKP3(context.Background(), p.bmc, m.payload)
	if err != nil || len(answer) < 2 || answer[1] != byte(types.RmcpStatusCodeNoErrors) {
		p.sessions.end(id)
		p.config.Guard.Wrong(source, now)
	} else {
		p.sessions.confirm(id, now)
		p.config.Guard.Succeeded(source, now)
	}
	if err != nil || answer == nil {
		return nil
	}
	return wrap(types.PayloadTypeRAKPMessage4, answer)
}
