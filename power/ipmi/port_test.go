package ipmi

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"

	"nines.dev/nines/power"
)

func TestEachActionOfBothCipherSuites(t *testing.T) {
	for _, suite := range []types.CipherSuiteID{types.CipherSuiteID3, types.CipherSuiteID17} {
		m := &machines{}
		c := newConsole(newPort(t, m))
		c.suite = suite
		if !c.login(t) {
			t.Fatalf("suite %d: no session", suite)
		}
		for what, action := range []power.Action{power.Off, power.On, power.Cycle, power.Reset, power.Diag, power.Soft} {
			if code := c.control(t, byte(what)); code != types.CodeOK {
				t.Errorf("suite %d: %s is answered with %v", suite, action, code)
			}
			if done := m.took(); !slices.Equal(done, []power.Action{action}) {
				t.Errorf("suite %d: %s did %v", suite, action, done)
			}
			code, data, err := c.reply(t, c.send(c.command(t, 0, 1))) // Get Chassis Status
			if err != nil || code != types.CodeOK || (data[0]&1 != 0) != action.Starts() {
				t.Errorf("suite %d: after %s the status is %v %x, %v", suite, action, code, data, err)
			}
		}
	}
}

// Only 3 and 17 have a session; the others have weaker hashes, or none.
func TestOtherCipherSuitesAreRefused(t *testing.T) {
	for suite := range types.CipherSuiteID(20) {
		c := newConsole(newPort(t, &machines{}))
		c.suite = suite
		if _, _, _, known := types.GetCipherSuiteAlgorithms(suite); !known {
			continue
		}
		if open := c.open(t); open != (suite == 3 || suite == 17) {
			t.Errorf("cipher suite %d: %v", suite, open)
		}
	}
}

func TestWhatANodeCannotDo(t *testing.T) {
	m := &machines{refuse: power.Diag}
	c := newConsole(newPort(t, m))
	if !c.login(t) {
		t.Fatal("no session")
	}
	if code := c.control(t, 4); code != types.CodeNotSupported || len(m.took()) > 0 {
		t.Errorf("what the node cannot do is answered with %v", code)
	}
	if code := c.control(t, 9); code != types.CodeRequestDataFieldInvalid || len(m.took()) > 0 {
		t.Errorf("an unknown action is answered with %v", code)
	}
	m.err = fmt.Errorf("broken")
	if code := c.control(t, 3); code != types.CodeUnspecifiedError {
		t.Errorf("an action that fails is answered with %v", code)
	}
}

// go-ipmi resets the machine for these, and lets administrators add users.
func TestTheControllerItselfIsNotChanged(t *testing.T) {
	m := &machines{}
	c := newConsole(newPort(t, m))
	if !c.login(t) {
		t.Fatal("no session")
	}
	for name, command := range map[string][2]uint8{
		"cold reset": {6, 2}, "warm reset": {6, 3}, "set user name": {6, 0x45}, "set user password": {6, 0x47}, "set user access": {6, 0x43}, "set LAN": {0xc, 1}, "activate payload": {6, 0x48},
	} {
		code, _, err := c.reply(t, c.send(c.command(t, command[0], command[1], make([]byte, 20)...)))
		if err != nil || code != types.CodeInvalidCommand || len(m.took()) > 0 {
			t.Errorf("%s: %v, %v", name, code, err)
		}
	}
}

func TestAnswersThatWereLost(t *testing.T) {
	m := &machines{}
	c := newConsole(newPort(t, m))
	if !c.login(t) {
		t.Fatal("no session")
	}
	packet := c.command(t, 0, 2, 3)
	first := c.send(packet)
	if again := c.send(packet); !bytes.Equal(first, again) {
		t.Error("the same packet has another answer")
	}
	c.seq-- // the same command in a new packet
	if code := c.control(t, 3); code != types.CodeOK {
		t.Error(code)
	}
	if done := m.took(); len(done) != 1 {
		t.Errorf("a command that came three times did %v", done)
	}
	if c.control(t, 3); len(m.took()) != 1 {
		t.Error("a second reset is taken for the first")
	}
	if c.send(packet) != nil || len(m.took()) > 0 {
		t.Error("an older packet was taken again")
	}
}

// A session is of the address that has opened it, and ends when it is closed or quiet.
func TestSessions(t *testing.T) {
	m := &machines{}
	port := newPort(t, m)
	c := newConsole(port)
	if !c.login(t) {
		t.Fatal("no session")
	}
	thief := *c
	thief.source = "127.0.0.9"
	if thief.send(thief.command(t, 0, 2, 0)) != nil || len(m.took()) > 0 {
		t.Error("another address uses the session")
	}
	c.now = c.now.Add(59 * time.Second)
	if code := c.control(t, 3); code != types.CodeOK {
		t.Error(code)
	}
	c.now = c.now.Add(2 * time.Minute)
	if c.send(c.command(t, 0, 2, 0)) != nil || len(port.sessions.known) > 0 || port.bmc.Sessions.Count() > 0 {
		t.Error("a session that was quiet for two minutes goes on")
	}
	if !c.login(t) {
		t.Fatal("no second session")
	}
	id := c.session.BMCID
	code, _, err := c.reply(t, c.send(c.command(t, 6, 0x3c, byte(id), byte(id>>8), byte(id>>16), byte(id>>24))))
	if err != nil || code != types.CodeOK || len(port.sessions.known) > 0 {
		t.Errorf("close: %v, %v, left %d", code, err, len(port.sessions.known))
	}
	if c.send(c.command(t, 0, 2, 0)) != nil {
		t.Error("a closed session goes on")
	}
}

func TestPacketsThatAreNotAuthentic(t *testing.T) {
	m := &machines{}
	c := newConsole(newPort(t, m))
	if !c.login(t) {
		t.Fatal("no session")
	}
	for i := range len(c.command(t, 0, 2, 0)) {
		packet := c.command(t, 0, 2, 0)
		packet[i] ^= 0x10
		if i > 3 && c.send(packet) != nil || len(m.took()) > 0 { // the first four bytes are outside the code
			t.Errorf("a packet with another byte %d is taken", i)
			m.took()
		}
		if i <= 3 {
			c.send(packet)
			m.took()
		}
	}
	// go-ipmi panics for the first of these.
	for _, bytes := range []int{33, 47, 16, 0, 31} {
		if c.send(c.authentic(t, make([]byte, bytes))) != nil {
			t.Errorf("a payload of %d bytes is taken", bytes)
		}
	}
}

func TestWrongPasswordsAreCountedAndSlowedDown(t *testing.T) {
	m := &machines{}
	port := newPort(t, m)
	wrong, right := newConsole(port), newConsole(port)
	wrong.source, wrong.password = "127.0.0.2", "wrong password"
	for i := range 3 {
		if wrong.login(t) {
			t.Fatal("a wrong password is taken")
		}
		if got := port.config.Guard.Failures(); got != uint64(i+1) {
			t.Errorf("%d wrong passwords are counted as %d", i+1, got)
		}
	}
	if wrong.open(t) {
		t.Error("a fourth attempt is looked at without a pause")
	}
	wrong.password = rightPassword
	wrong.now = wrong.now.Add(2 * time.Second)
	if !wrong.login(t) || !right.login(t) {
		t.Error("the right password is not taken after the pause, or not from elsewhere")
	}
	stranger := newConsole(port)
	stranger.user, stranger.source = "root", "127.0.0.3"
	if stranger.login(t) {
		t.Error("an unknown user has a session")
	}
	nameless := newConsole(port)
	nameless.user, nameless.password, nameless.source = "", "", "127.0.0.4"
	if nameless.login(t) {
		t.Error("the user without a name has a session")
	}
	// Who takes the hash of the password and goes away has guessed, too.
	before := port.config.Guard.Failures()
	silent := newConsole(port)
	silent.source = "127.0.0.5"
	if !silent.open(t) || !silent.rakp1(t) {
		t.Fatal("no hash")
	}
	silent.now = silent.now.Add(pendingFor + time.Second)
	silent.send([]byte{6, 0, 0xff, 6, 0, 0, 0x11, 0xbe, 0x80, 0, 0, 0})
	if got := port.config.Guard.Failures(); got != before+1 {
		t.Errorf("a handshake that was left counts %d", got-before)
	}
}

// Who takes hash after hash, and pushes out its own sessions before they are too old, has guessed as well.
func TestHashesThatArePushedOutAreCounted(t *testing.T) {
	port := newPort(t, &machines{})
	c := newConsole(port)
	taken := 0
	for range 100 {
		if c.open(t) && c.rakp1(t) {
			taken++
		}
	}
	c.now = c.now.Add(pendingFor + time.Second)
	c.open(t)
	if got := port.config.Guard.Failures(); got != 3 || taken != 3 {
		t.Errorf("%d hashes were taken, and %d are counted; three, and then a pause", taken, got)
	}
}

// TestAHashIsAnAttempt: a client with a wrong password sees that by the hash, and sends no more. The right one is not taken
// after such, until the pause has ended; but an attempt that has begun goes on.
func TestAHashIsAnAttempt(t *testing.T) {
	port := newPort(t, &machines{})
	begun := newConsole(port)
	if !begun.open(t) || !begun.rakp1(t) {
		t.Fatal("no hash")
	}
	for range 2 {
		wrong := newConsole(port)
		if !wrong.open(t) || !wrong.rakp1(t) {
			t.Fatal("no hash")
		}
	}
	right := newConsole(port)
	if right.login(t) {
		t.Error("a fourth attempt within the same moment is taken")
	}
	other := newConsole(port)
	if other.source = "user 1000 of this host"; !other.login(t) {
		t.Error("another user waits, too")
	}
	right.now = right.now.Add(2 * time.Second)
	if !right.login(t) {
		t.Error("the right password is not taken after the pause")
	}
	if !begun.rakp3(t) {
		t.Error("the first attempt does not go on")
	}
}

// A flood of other addresses, and of packets of all kinds, leaves room for who has the password, and
// bounds the memory.
func TestAFloodStarvesNobody(t *testing.T) {
	m := &machines{}
	port := newPort(t, m)
	right := newConsole(port)
	for i := range 20_000 {
		attacker := newConsole(port)
		attacker.source, attacker.password = fmt.Sprintf("127.1.%d.%d", i/200%250, i%200), "wrong password"
		if attacker.open(t) && attacker.rakp1(t) && i%3 == 0 {
			attacker.rakp3(t)
		}
		if len(port.sessions.known) > mostPending+mostActive || port.bmc.Sessions.Count() > mostPending+mostActive {
			t.Fatalf("%d sessions, %d of go-ipmi", len(port.sessions.known), port.bmc.Sessions.Count())
		}
		switch i % 100 {
		case 0:
			if !right.open(t) {
				t.Fatalf("no session beside %d attackers", i)
			}
		case 5:
			if !right.rakp1(t) {
				t.Fatalf("no hash beside %d attackers", i)
			}
		case 10:
			if !right.rakp3(t) || right.control(t, 3) != types.CodeOK {
				t.Fatalf("no reset beside %d attackers", i)
			}
		}
	}
	if right.control(t, 3) != types.CodeOK {
		t.Error("the session has gone in the flood")
	}
}

// An address that opens sessions without end pushes out only its own.
func TestOneAddressPushesOutOnlyItsOwn(t *testing.T) {
	port := newPort(t, &machines{})
	right, attacker := newConsole(port), newConsole(port)
	attacker.source = "127.0.0.2"
	if !right.open(t) {
		t.Fatal("no session")
	}
	for range 1000 {
		attacker.open(t)
	}
	if !right.rakp1(t) || !right.rakp3(t) {
		t.Error("the session was pushed out")
	}
	if n := len(port.sessions.known); n != mostPendingOf+1 {
		t.Errorf("%d sessions", n)
	}
	// Many sessions with the password: the quietest goes.
	for i := range mostActive + 3 {
		more := newConsole(port)
		more.now = more.now.Add(time.Duration(i) * time.Second)
		if !more.login(t) {
			t.Fatalf("no session %d", i)
		}
	}
	active := 0
	for _, s := range port.sessions.known {
		if s.active {
			active++
		}
	}
	if active != mostActive {
		t.Errorf("%d sessions are active", active)
	}
}

// What ipmitool asks before it opens a session, in both forms; nothing else is answered to strangers.
func TestStrangers(t *testing.T) {
	port := newPort(t, &machines{})
	c := newConsole(port)
	ask := func(netFn, command byte, data ...byte) []byte {
		return append(append([]byte{0x20, netFn << 2, 0, 0x81, 4, command}, data...), 0)
	}
	old := wrapOld(ask(6, commandAuth, 0x8e, 4))
	answer := c.send(old)
	if len(answer) < 14+8+8 || answer[4] != authNone || answer[14+6] != 0 || answer[14+7+3]&2 == 0 || answer[14+7+3]&1 != 0 {
		t.Errorf("the authentication capabilities are %x: they have to offer 2.0 and not 1.5", answer)
	}
	answer = c.send(wrap(types.PayloadTypeIPMI, ask(6, commandCiphers, 0x0e, 0, 0x80)))
	if answer == nil || !bytes.Contains(payload(t, answer), []byte{0xc0, 17}) || !bytes.Contains(payload(t, answer), []byte{0xc0, 3}) {
		t.Errorf("the cipher suites are %x", answer)
	}
	for name, packet := range map[string][]byte{
		"chassis status":    wrap(types.PayloadTypeIPMI, ask(0, 1)),
		"chassis control":   wrapOld(ask(0, 2, 0)),
		"session challenge": wrapOld(ask(6, 0x39, make([]byte, 17)...)),
		"device id":         wrapOld(ask(6, 1)),
		"serial over LAN":   {6, 0, 0xff, 7, 6, 1, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0},
		"nothing":           {},
		"another version":   append([]byte{5}, old[1:]...),
	} {
		if answer := c.send(packet); answer != nil {
			t.Errorf("%s is answered with %x", name, answer)
		}
	}
}

// A boot override is kept, and used up by a start.
func TestBootOverrideOnce(t *testing.T) {
	c := newConsole(newPort(t, &machines{}))
	if !c.login(t) {
		t.Fatal("no session")
	}
	flags := func() []byte {
		code, data, err := c.reply(t, c.send(c.command(t, 0, 9, 5, 0, 0)))
		if err != nil || code != types.CodeOK {
			t.Fatal(code, err)
		}
		return data[2:4]
	}
	for _, persistent := range []byte{0, 0x40} {
		code, _, err := c.reply(t, c.send(c.command(t, 0, 8, 5, 0x80|persistent, 0x04, 0, 0, 0))) // PXE
		if err != nil || code != types.CodeOK {
			t.Fatal(code, err)
		}
		if got := flags(); got[0] != 0x80|persistent || got[1] != 0x04 {
			t.Errorf("the boot flags are %x", got)
		}
		c.control(t, 0)
		if got := flags(); got[1] != 0x04 {
			t.Errorf("off has used up the boot flags: %x", got)
		}
		c.control(t, 1)
		if got := flags(); (got[1] == 0x04) != (persistent != 0) {
			t.Errorf("after a start the boot flags are %x, and persistent is %x", got, persistent)
		}
	}
}

// The loop over a socket ends with its context, and answers.
func TestServe(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	done := make(chan error)
	port := newPort(t, &machines{})
	ctx, cancel := contextOf(t)
	go func() { done <- port.Serve(ctx, conn) }()
	client, err := net.Dial("udp", conn.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ping := []byte{6, 0, 0xff, 6, 0, 0, 0x11, 0xbe, 0x80, 7, 0, 0}
	if _, err := client.Write(ping); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 100)
	_ = client.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := client.Read(answer); err != nil || n < 10 || answer[9] != 7 {
		t.Errorf("a ping is answered with %x, %v", answer[:n], err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
