package ipmi

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/crypto"
	"github.com/bougou/go-ipmi/pkg/handlers"
	"github.com/bougou/go-ipmi/pkg/protocol"
	"github.com/bougou/go-ipmi/pkg/types"
)

// lanChannel is the channel of go-ipmi's that is the network.
const lanChannel = 1

// numberWindow is how far the number of a packet may be ahead (IPMI 2.0, 6.12.13).
const numberWindow = 16

// command answers a command of a client that has the password.
func (p *Port) command(source string, m message, packet []byte, now time.Time) []byte {
	known := p.sessions.of(m.session, source)
	if known == nil || !known.active {
		return nil
	}
	s, err := p.bmc.Sessions.Get(m.session)
	if err != nil {
		p.sessions.end(m.session)
		return nil
	}
	if bytes.Equal(packet, known.last) {
		return known.answer
	}
	if !authentic(packet, len(m.payload), s) || m.number <= known.number || m.number-known.number > numberWindow {
		return nil
	}
	plain, err := crypto.DecryptAESPayload(m.payload, s.K2)
	if err != nil {
		return nil
	}
	known.number, known.last = m.number, slices.Clone(packet)
	p.sessions.use(known, now)
	p.bmc.Sessions.Touch(m.session)
	reply := p.reply(source, known, s, plain)
	known.answer = nil
	if reply != nil {
		known.answer = sealed(s, reply)
	}
	if _, err := p.bmc.Sessions.Get(m.session); err != nil {
		p.sessions.end(m.session) // that was the command to close it
	}
	return known.answer
}

// reply does a command.
func (p *Port) reply(source string, known *session, s *bmc.Session, plain []byte) []byte {
	netFn, command, data, number, ok := protocol.ParseIPMIRequest(plain)
	if !ok {
		return nil
	}
	switches := netFn == uint8(types.CommandChassisControl.NetFn) && command == types.CommandChassisControl.ID
	if switches && bytes.Equal(plain, known.request) {
		return known.reply // its answer was lost; a second reset would be one too many
	}
	channel, err := p.bmc.Channels.Get(lanChannel)
	if err != nil {
		return nil
	}
	s.ProcMu.Lock() // as the commands expect
	defer s.ProcMu.Unlock()
	p.by = fmt.Sprintf("IPMI from %s", source)
	data, code, _ := p.commands.Dispatch(context.Background(), &handlers.HandlerContext{BMC: p.bmc, Session: s, Channel: channel, User: s.User}, netFn, command, data)
	reply := protocol.BuildIPMIResponse(netFn, command, number, uint8(code), data)
	known.request, known.reply = nil, nil
	if switches {
		known.request, known.reply = slices.Clone(plain), reply
	}
	return reply
}

// authentic is true for a packet that ends with its session's code: the payload is padded to a multiple
// of four bytes, and followed by the length of the padding, a constant and the code (IPMI 2.0, 13.6).
func authentic(packet []byte, payloadBytes int, s *bmc.Session) bool {
	length, known := crypto.IntegrityAuthCodeLen(s.IntegrityAlg)
	if !known || length == 0 || len(s.K1) == 0 {
		return false
	}
	padding := types.IntegrityPadLen(header20Bytes, payloadBytes)
	end := rmcpBytes + header20Bytes + payloadBytes + padding + 2
	if len(packet) != end+length || int(packet[end-2]) != padding || packet[end-1] != nextHeader {
		return false
	}
	code, err := crypto.SessionIntegrityAuthCode(s.IntegrityAlg, packet[rmcpBytes:end], s.K1, "")
	return err == nil && crypto.Equal(code, packet[end:])
}

// sealed encrypts and authenticates an answer in a session; nil if that cannot be.
func sealed(s *bmc.Session, reply []byte) []byte {
	payload, err := crypto.EncryptAESPayload(reply, s.K2, crypto.RandomBytes(16))
	if err != nil {
		return nil
	}
	packet := protocol.BuildRMCPPlusPacket(uint8(types.PayloadTypeIPMI), types.PayloadFlagEncrypted|types.PayloadFlagAuthenticated, s.ConsoleID, s.NextOutboundSeq(), payload)
	padding := types.IntegrityPadLen(header20Bytes, len(payload))
	packet = append(packet, bytes.Repeat([]byte{0xff}, padding)...)
	packet = append(packet, byte(padding), nextHeader)
	code, err := crypto.SessionIntegrityAuthCode(s.IntegrityAlg, packet[rmcpBytes:], s.K1, "")
	if err != nil {
		return nil
	}
	return append(packet, code...)
}
