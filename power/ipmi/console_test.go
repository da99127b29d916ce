package ipmi

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/crypto"
	"github.com/bougou/go-ipmi/pkg/protocol"
	"github.com/bougou/go-ipmi/pkg/rmcpplus"
	"github.com/bougou/go-ipmi/pkg/types"

	"nines.dev/nines/power"
)

const (
	rightUser     = "admin"
	rightPassword = "correct horse 1"
	here          = "127.0.0.1"
)

// machines is a node that remembers what was done to it.
type machines struct {
	mu     sync.Mutex
	on     bool
	done   []power.Action
	refuse power.Action
	err    error
}

func (m *machines) State(string) (power.State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return power.State{On: m.on}, m.err
}

func (m *machines) Do(_ context.Context, _ string, action power.Action, _ string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done = append(m.done, action)
	m.on = action.Starts()
	return m.err
}

func (m *machines) Can(_ string, action power.Action) (bool, error) {
	return action != m.refuse, nil
}

func (m *machines) took() []power.Action {
	m.mu.Lock()
	defer m.mu.Unlock()
	done := m.done
	m.done = nil
	return done
}

func newPort(t testing.TB, m *machines) *Port {
	t.Helper()
	silent := func(string) {}
	port, err := NewPort("dut", Config{
		Control: power.NewController(t.Context(), m, silent), Guard: power.NewGuard(silent),
		User: rightUser, Password: rightPassword, Say: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// console is a client that can do everything wrong. Its packets do not go through a socket.
type console struct {
	port           *Port
	source         string
	now            time.Time
	user, password string
	suite          types.CipherSuiteID
	// session is what both sides share.
	session *bmc.Session
	number  uint32
	seq     uint8
}

func newConsole(port *Port) *console {
	return &console{port: port, source: here, now: time.Unix(1_700_000_000, 0), user: rightUser, password: rightPassword, suite: types.CipherSuiteID17}
}

func (c *console) send(packet []byte) []byte { return c.port.handle(c.source, packet, c.now) }

// payload is what a packet of RMCP+ carries.
func payload(t testing.TB, packet []byte) []byte {
	t.Helper()
	_, _, _, _, payload, ok := protocol.ParseRMCPPlusHeader(packet)
	if !ok {
		t.Fatalf("the answer %x is no packet", packet)
	}
	return payload
}

// open asks for a session, and is false without an answer that gives one.
func (c *console) open(t testing.TB) bool {
	t.Helper()
	auth, integrity, crypt, _ := types.GetCipherSuiteAlgorithms(c.suite)
	a, i, k := rmcpplus.NewAlgorithmPayloads(auth, integrity, crypt)
	request := &rmcpplus.OpenSessionRequest{
		RequestedMaximumPrivilegeLevel: types.PrivilegeLevelAdministrator, RemoteConsoleSessionID: 0xa0a2a3a4,
		AuthenticationPayload: a, IntegrityPayload: i, ConfidentialityPayload: k,
	}
	answer := c.send(wrap(types.PayloadTypeRmcpOpenSessionRequest, request.Pack()))
	if answer == nil {
		return false
	}
	got := payload(t, answer)
	if got[1] != 0 {
		return false
	}
	c.session = &bmc.Session{
		ConsoleID: 0xa0a2a3a4, BMCID: binary.LittleEndian.Uint32(got[8:12]), AuthAlg: auth, IntegrityAlg: integrity, CryptAlg: crypt,
		Role: uint8(types.PrivilegeLevelAdministrator),
	}
	c.number = 0
	return true
}

func (c *console) rakp1(t testing.TB) bool {
	t.Helper()
	copy(c.session.ConsoleRand[:], "sixteen bytes of")
	request := &rmcpplus.RAKPMessage1{
		ManagedSystemSessionID: c.session.BMCID, RemoteConsoleRandomNumber: c.session.ConsoleRand,
		RequestedMaximumPrivilegeLevel: types.PrivilegeLevel(c.session.Role), UsernameLength: uint8(len(c.user)), Username: []byte(c.user),
	}
	answer := c.send(wrap(types.PayloadTypeRAKPMessage1, request.Pack()))
	if answer == nil {
		return false
	}
	got := &rmcpplus.RAKPMessage2{AuthAlg: c.session.AuthAlg}
	if err := got.Unpack(payload(t, answer)); err != nil {
		t.Fatal(err)
	}
	c.session.BMCRand = got.ManagedSystemRandomNumber
	return got.RmcpStatusCode == types.RmcpStatusCodeNoErrors
}

func (c *console) rakp3(t testing.TB) bool {
	t.Helper()
	s, key := c.session, crypto.PadPassword20([]byte(c.password))
	code, err := crypto.RAKP3AuthCode(s.AuthAlg, s.BMCRand[:], s.ConsoleID, s.Role, c.user, key)
	if err != nil {
		t.Fatal(err)
	}
	message := make([]byte, 8, 40)
	binary.LittleEndian.PutUint32(message[4:], s.BMCID)
	answer := c.send(wrap(types.PayloadTypeRAKPMessage3, append(message, code...)))
	if answer == nil || payload(t, answer)[1] != 0 {
		return false
	}
	s.SIK, s.K1, s.K2, err = crypto.DeriveSessionKeys(s.AuthAlg, s.ConsoleRand[:], s.BMCRand[:], s.Role, c.user, key)
	if err != nil {
		t.Fatal(err)
	}
	return true
}

// login is the whole handshake.
func (c *console) login(t testing.TB) bool {
	t.Helper()
	return c.open(t) && c.rakp1(t) && c.rakp3(t)
}

// command makes the packet of a command. The session's numbers of both ends are swapped in it.
func (c *console) command(t testing.TB, netFn, command uint8, data ...byte) []byte {
	t.Helper()
	c.seq++
	message := []byte{0x20, netFn << 2, 0, 0x81, c.seq << 2, command}
	message = append(message, data...)
	return c.sealed(t, append(message, 0))
}

func (c *console) sealed(t testing.TB, plain []byte) []byte {
	t.Helper()
	encrypted, err := crypto.EncryptAESPayload(plain, c.session.K2, crypto.RandomBytes(16))
	if err != nil {
		t.Fatal(err)
	}
	return c.authentic(t, encrypted)
}

// authentic wraps a payload as it is into an authenticated packet of the session.
func (c *console) authentic(t testing.TB, payload []byte) []byte {
	t.Helper()
	c.number++
	packet := protocol.BuildRMCPPlusPacket(uint8(types.PayloadTypeIPMI), types.PayloadFlagEncrypted|types.PayloadFlagAuthenticated, c.session.BMCID, c.number, payload)
	padding := types.IntegrityPadLen(header20Bytes, len(payload))
	packet = append(packet, bytes.Repeat([]byte{0xff}, padding)...)
	packet = append(packet, byte(padding), nextHeader)
	code, err := crypto.SessionIntegrityAuthCode(c.session.IntegrityAlg, packet[rmcpBytes:], c.session.K1, "")
	if err != nil {
		t.Fatal(err)
	}
	return append(packet, code...)
}

var errNoAnswer = errors.New("no answer")

// reply reads the completion code and the data of an answer.
func (c *console) reply(t testing.TB, answer []byte) (types.CompletionCode, []byte, error) {
	t.Helper()
	if answer == nil {
		return 0, nil, errNoAnswer
	}
	if !authentic(answer, len(payload(t, answer)), c.session) {
		t.Fatal("the answer is not authentic")
	}
	plain, err := crypto.DecryptAESPayload(payload(t, answer), c.session.K2)
	if err != nil {
		t.Fatal(err)
	}
	return types.CompletionCode(plain[6]), plain[7 : len(plain)-1], nil
}

// control sends a Chassis Control, and returns its completion code.
func (c *console) control(t testing.TB, what byte) types.CompletionCode {
	t.Helper()
	code, _, err := c.reply(t, c.send(c.command(t, 0, 2, what)))
	if err != nil {
		t.Fatal(err)
	}
	return code
}
