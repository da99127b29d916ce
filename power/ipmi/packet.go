package ipmi

import (
	"crypto/aes"
	"encoding/binary"

	"github.com/bougou/go-ipmi/pkg/protocol"
	"github.com/bougou/go-ipmi/pkg/types"
)

// The layout of packets: a header of RMCP (IPMI 2.0, 13.1.3), then one of a session, of IPMI 1.5 or of
// RMCP+ (13.6).
const (
	rmcpVersion    = 0x06
	classASF       = 0x06
	classIPMI      = 0x07
	asfPing        = 0x80
	authNone       = 0x00 // of IPMI 1.5, without a session: a client that looks what there is
	authRMCPPlus   = 0x06
	rmcpBytes      = 4
	header15Bytes  = 10
	header20Bytes  = 12
	openBytes      = 32 // 13.17
	rakp1Bytes     = 28 // 13.20, without the name
	rakp3Bytes     = 8  // 13.22, without the code
	mostNameBytes  = 16
	longestPacket  = 512 // of what is handled; the longest request here has 104 bytes
	nextHeader     = 0x07
	netFnApp       = 0x06
	commandAuth    = 0x38 // Get Channel Authentication Capabilities
	commandCiphers = 0x54 // Get Channel Cipher Suites
)

type kind int

const (
	presencePing kind = iota + 1
	discovery
	openSession
	rakp1
	rakp3
	inSession
)

// message is a packet whose form is right. What it says may be wrong.
type message struct {
	kind kind
	// old is true for a header of IPMI 1.5.
	old     bool
	tag     byte // of a presence ping
	session uint32
	number  uint32
	payload []byte
}

// read takes a packet apart, and refuses what is not of a form that is handled.
func read(packet []byte) (message, bool) {
	if len(packet) < rmcpBytes || len(packet) > longestPacket || packet[0] != rmcpVersion {
		return message{}, false
	}
	switch class := packet[3]; {
	case class == classASF:
		if len(packet) < 12 || packet[8] != asfPing {
			return message{}, false
		}
		return message{kind: presencePing, tag: packet[9]}, true
	case class != classIPMI || len(packet) < rmcpBytes+header15Bytes:
		return message{}, false
	case packet[4] == authNone:
		return readOld(packet)
	case packet[4] == authRMCPPlus:
		return readPlus(packet)
	}
	return message{}, false
}

// readOld reads what a client of IPMI 2.0 sends in the form of 1.5: a question what there is.
func readOld(packet []byte) (message, bool) {
	m := message{kind: discovery, old: true, session: binary.LittleEndian.Uint32(packet[9:13])}
	end := rmcpBytes + header15Bytes + int(packet[13])
	if len(packet) < end || m.session != 0 {
		return message{}, false
	}
	m.payload = packet[rmcpBytes+header15Bytes : end]
	return m, m.discovers()
}

func readPlus(packet []byte) (message, bool) {
	var m message
	session, number, payloadType, flags, payload, ok := protocol.ParseRMCPPlusHeader(packet)
	if !ok {
		return m, false
	}
	m.session, m.number, m.payload = session, number, payload
	secret := flags&types.PayloadFlagEncrypted != 0 && flags&types.PayloadFlagAuthenticated != 0
	switch types.PayloadType(payloadType) {
	case types.PayloadTypeRmcpOpenSessionRequest:
		m.kind = openSession
		return m, session == 0 && len(payload) >= openBytes
	case types.PayloadTypeRAKPMessage1:
		m.kind = rakp1
		if session != 0 || len(payload) < rakp1Bytes {
			return m, false
		}
		name := int(payload[rakp1Bytes-1])
		return m, name <= mostNameBytes && len(payload) >= rakp1Bytes+name
	case types.PayloadTypeRAKPMessage3:
		m.kind = rakp3
		return m, session == 0 && len(payload) >= rakp3Bytes
	case types.PayloadTypeIPMI:
		if session == 0 {
			m.kind = discovery
			return m, m.discovers()
		}
		m.kind = inSession
		// A vector, and blocks (13.29).
		return m, secret && len(payload) >= 2*aes.BlockSize && len(payload)%aes.BlockSize == 0
	}
	return m, false
}

// discovers is true for the commands that are answered to strangers.
func (m message) discovers() bool {
	netFn, command, _, _, ok := protocol.ParseIPMIRequest(m.payload)
	return ok && netFn == netFnApp && (command == commandAuth || command == commandCiphers)
}

// about is the session that a RAKP message is about.
func (m message) about() uint32 { return binary.LittleEndian.Uint32(m.payload[4:8]) }

func (m message) pong() []byte { return protocol.BuildASFPresencePong(m.tag) }

// wrapOld puts an answer into a packet of IPMI 1.5.
func wrapOld(payload []byte) []byte {
	packet := make([]byte, rmcpBytes+header15Bytes, rmcpBytes+header15Bytes+len(payload))
	packet[0], packet[2], packet[3], packet[4] = rmcpVersion, 0xff, classIPMI, authNone
	packet[13] = byte(len(payload))
	return append(packet, payload...)
}

// wrap puts an answer into a packet without a session.
func wrap(payloadType types.PayloadType, payload []byte) []byte {
	return protocol.BuildRMCPPlusPacket(uint8(payloadType), 0, 0, 0, payload)
}
