package redfish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nines.dev/nines/power"
	"nines.dev/nines/test/labtest"
)

const (
	rightUser     = "admin"
	rightPassword = "correct-horse"
)

type machines struct {
	mu   sync.Mutex
	on   bool
	done []power.Action
}

func (m *machines) State(string) (power.State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return power.State{On: m.on}, nil
}

func (m *machines) Do(_ context.Context, _ string, action power.Action, _ string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done, m.on = append(m.done, action), action.Starts()
	return nil
}

func (*machines) Can(_ string, action power.Action) (bool, error) {
	return action != power.Diag, nil
}

func (m *machines) took() []power.Action {
	m.mu.Lock()
	defer m.mu.Unlock()
	done := m.done
	m.done = nil
	return done
}

type client struct {
	t       *testing.T
	service *service
	handler http.Handler
	m       *machines
	now     time.Time
}

func newClient(t *testing.T) *client {
	t.Helper()
	silent := func(string) {}
	c := &client{t: t, m: &machines{}, now: time.Unix(1_700_000_000, 0)}
	c.service = newService(Config{
		Control: power.NewController(t.Context(), c.m, silent), Guard: power.NewGuard(silent),
		Nodes: []string{"dut", "load"}, User: rightUser, Password: rightPassword,
	})
	c.service.now = func() time.Time { return c.now }
	c.handler = c.service.handler()
	return c
}

// ask sends a request with the right password, unless change says otherwise.
func (c *client) ask(method, path, body string, change ...func(*http.Request)) (int, map[string]any, http.Header) {
	c.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:1234"
	r.SetBasicAuth(rightUser, rightPassword)
	for _, one := range change {
		one(r)
	}
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	var got map[string]any
	if w.Body.Len() > 0 && strings.Contains(w.Header().Get("Content-Type"), "json") {
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			c.t.Fatalf("%s %s: %v in %s", method, path, err, w.Body)
		}
	}
	return w.Code, got, w.Header()
}

func stranger(r *http.Request) { r.Header.Del("Authorization") }

const dut = "/redfish/v1/Systems/dut"

func TestEachResetType(t *testing.T) {
	c := newClient(t)
	for name, action := range map[string]power.Action{
		"On": power.On, "ForceOn": power.On, "ForceOff": power.Off, "GracefulShutdown": power.Soft,
		"ForceRestart": power.Reset, "GracefulRestart": power.Restart, "PowerCycle": power.Cycle,
	} {
		code, _, _ := c.ask("POST", dut+"/Actions/ComputerSystem.Reset", fmt.Sprintf(`{"ResetType": %q}`, name))
		if done := c.m.took(); code != 204 || !slices.Equal(done, []power.Action{action}) {
			t.Errorf("%s: %d, did %v", name, code, done)
		}
		_, system, _ := c.ask("GET", dut, "")
		if on := system["PowerState"] == "On"; on != action.Starts() {
			t.Errorf("after %s the state is %v", name, system["PowerState"])
		}
	}
	for body, want := range map[string]int{
		`{"ResetType": "Nmi"}`: 400, `{"ResetType": "PushPowerButton"}`: 400, `{}`: 400, ``: 400, `{"ResetType": 3}`: 400, `[]`: 400,
		`{"ResetType": "On"} {}`: 400, `{"ResetType": "` + strings.Repeat("x", mostBody) + `"}`: 413,
	} {
		code, got, _ := c.ask("POST", dut+"/Actions/ComputerSystem.Reset", body)
		if code != want || got["error"] == nil || len(c.m.took()) > 0 {
			t.Errorf("%.40s: %d %v", body, code, got)
		}
	}
}

// Everything but the root and a new session wants the password, also what there is not.
func TestStrangersSeeTheRootOnly(t *testing.T) {
	c := newClient(t)
	for _, path := range []string{"/redfish", "/redfish/", "/redfish/v1", "/redfish/v1/", "/redfish/v1/odata", "/redfish/v1/$metadata"} {
		if code, _, _ := c.ask("GET", path, "", stranger); code != 200 {
			t.Errorf("%s: %d", path, code)
		}
	}
	for _, path := range []string{
		"/redfish/v1/Systems", "/redfish/v1/Systems/", dut, dut + "/", "/redfish/v1/Systems/nobody", "/redfish/v1/SessionService/", "/redfish/v1/SessionService/Sessions",
		"/redfish/v1/Chassis", "/", "/x",
	} {
		if code, _, header := c.ask("GET", path, "", stranger); code != 401 || header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %d", path, code)
		}
	}
	for _, change := range []func(*http.Request){
		stranger,
		func(r *http.Request) { r.SetBasicAuth(rightUser, "wrong") },
		func(r *http.Request) { r.SetBasicAuth("root", rightPassword) },
		func(r *http.Request) { stranger(r); r.Header.Set("X-Auth-Token", "0") },
	} {
		code, _, _ := c.ask("POST", dut+"/Actions/ComputerSystem.Reset", `{"ResetType": "ForceOff"}`, change)
		if code != 401 || len(c.m.took()) > 0 {
			t.Errorf("a stranger's reset: %d", code)
		}
	}
	for path, want := range map[string]int{"/redfish/v1/Systems/nobody": 404, "/redfish/v1/Chassis": 404, "/x": 404, "/redfish/v1/Systems/..%2f": 404} {
		if code, got, _ := c.ask("GET", path, ""); code != want || got["error"] == nil {
			t.Errorf("%s: %d %v", path, code, got)
		}
	}
	if code, _, header := c.ask("DELETE", dut, ""); code != 405 || !strings.Contains(header.Get("Allow"), "PATCH") {
		t.Errorf("DELETE of a node: %d", code)
	}
}

func TestWrongPasswordsAreSlowedDown(t *testing.T) {
	c := newClient(t)
	wrong := func(r *http.Request) { r.SetBasicAuth(rightUser, "wrong") }
	for range 3 {
		if code, _, _ := c.ask("GET", dut, "", wrong); code != 401 {
			t.Fatal(code)
		}
	}
	// The right one, too: else the pause would be none.
	for _, change := range []func(*http.Request){wrong, func(*http.Request) {}} {
		if code, _, header := c.ask("GET", dut, "", change); code != 429 || header.Get("Retry-After") == "" {
			t.Errorf("a fourth attempt: %d", code)
		}
	}
	elsewhere := func(r *http.Request) { r.RemoteAddr = "192.0.2.1:99" }
	if code, _, _ := c.ask("GET", dut, "", elsewhere); code != 200 {
		t.Errorf("from elsewhere: %d", code)
	}
	c.now = c.now.Add(2 * time.Second)
	if code, _, _ := c.ask("GET", dut, ""); code != 200 {
		t.Errorf("after the pause: %d", code)
	}
	if got := c.service.Guard.Failures(); got != 3 {
		t.Errorf("%d wrong passwords are counted", got)
	}
}

func TestSessions(t *testing.T) {
	c := newClient(t)
	login := fmt.Sprintf(`{"UserName": %q, "Password": %q}`, rightUser, rightPassword)
	code, _, header := c.ask("POST", sessionsPath, login, stranger)
	if code != 201 {
		t.Fatal(code)
	}
	with := func(r *http.Request) { stranger(r); r.Header.Set("X-Auth-Token", header.Get("X-Auth-Token")) }
	if code, _, _ := c.ask("GET", dut, "", with); code != 200 {
		t.Errorf("with the token: %d", code)
	}
	if code, one, _ := c.ask("GET", header.Get("Location"), "", with); code != 200 || one["UserName"] != rightUser {
		t.Errorf("the session: %d %v", code, one)
	}
	if code, _, _ := c.ask("DELETE", header.Get("Location"), "", with); code != 204 {
		t.Errorf("its end: %d", code)
	}
	if code, _, _ := c.ask("GET", dut, "", with); code != 401 {
		t.Errorf("with the token of a session that has ended: %d", code)
	}
	if code, _, _ := c.ask("POST", sessionsPath, `{"UserName": "admin", "Password": "wrong"}`, stranger); code != 401 || c.service.Guard.Failures() != 1 {
		t.Errorf("a wrong password: %d", code)
	}
	for range 3 * mostSessions {
		if code, _, _ = c.ask("POST", sessionsPath, login, stranger); code != 201 {
			t.Fatal(code)
		}
	}
	if n := len(c.service.sessions.known); n > mostSessions {
		t.Errorf("%d sessions", n)
	}
	c.now = c.now.Add(sessionPatience + time.Second)
	if _, list, _ := c.ask("GET", sessionsPath, ""); list["Members@odata.count"] != 0.0 {
		t.Errorf("old sessions: %v", list)
	}
}

func TestBootOverride(t *testing.T) {
	c := newClient(t)
	boot := func() map[string]any {
		_, system, _ := c.ask("GET", dut, "")
		return system["Boot"].(map[string]any)
	}
	_, _, header := c.ask("GET", dut, "")
	tagged := func(r *http.Request) { r.Header.Set("If-Match", header.Get("ETag")) }
	if code, _, _ := c.ask("PATCH", dut, `{"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"}}`, tagged); code != 204 {
		t.Fatal(code)
	}
	if b := boot(); b["BootSourceOverrideEnabled"] != "Once" || b["BootSourceOverrideTarget"] != "Pxe" {
		t.Errorf("the override is %v", b)
	}
	if code, _, _ := c.ask("PATCH", dut, `{"Boot": {"BootSourceOverrideEnabled": "Disabled"}}`, tagged); code != 412 {
		t.Errorf("a change of what has changed: %d", code)
	}
	c.ask("POST", dut+"/Actions/ComputerSystem.Reset", `{"ResetType": "ForceRestart"}`)
	if b := boot(); b["BootSourceOverrideEnabled"] != "Disabled" {
		t.Errorf("after a start the override is %v", b)
	}
	for _, body := range []string{
		`{}`, `{"Boot": {"BootSourceOverrideTarget": "Floppy"}}`, `{"Boot": {"BootSourceOverrideEnabled": "Twice"}}`, `{"Boot": {"BootSourceOverrideMode": "EFI"}}`,
	} {
		if code, _, _ := c.ask("PATCH", dut, body); code != 400 {
			t.Errorf("%s: %d", body, code)
		}
	}
}

// A request that panics is said, and ends only its own connection.
func TestAPanicIsSurvived(t *testing.T) {
	c := newClient(t)
	var lines []string
	c.service.Say = func(line string) { lines = append(lines, line) }
	control := c.service.Control
	c.service.Control = nil
	for range 2 {
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
					t.Errorf("the server gets %v", err)
				}
			}()
			c.ask("GET", dut, "")
		}()
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "could not be handled") {
		t.Errorf("said %q", lines)
	}
	c.service.Control = control
	if code, _, _ := c.ask("GET", dut, ""); code != 200 {
		t.Errorf("afterwards: %d", code)
	}
}

// One source cannot take all connections.
func TestConnectionsAreLimited(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	encrypted, err := TLS(Limit(plain))
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- Serve(ctx, encrypted, c.handler) }()
	from := func(source string) (net.Conn, error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
		return d.Dial("tcp", plain.Addr().String())
	}
	// Another user of this host, who has all its loopback addresses.
	var idle []net.Conn
	labtest.AsAnother(t, func() {
		for i := range 2 * mostConnectionsOf {
			conn, err := from(fmt.Sprint("127.0.0.", 2+i%8))
			if err != nil {
				t.Error(err)
				return
			}
			idle = append(idle, conn)
		}
	})
	// The last of them is closed by the server.
	_ = idle[len(idle)-1].SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := idle[len(idle)-1].Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("an idle connection too many: %v", err)
	}
	right := httpsClient(from)
	answer, err := right.Get("https://" + plain.Addr().String() + "/redfish/v1/")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || !strings.Contains(string(text), "ServiceRoot") {
		t.Errorf("%s, %v", text, err)
	}
	for _, conn := range idle {
		_ = conn.Close()
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
