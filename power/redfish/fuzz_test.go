package redfish

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"nines.dev/nines/power"
)

func httpsClient(from func(string) (net.Conn, error)) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:     func(context.Context, string, string) (net.Conn, error) { return from("127.0.0.1") },
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // it signs itself
	}}
}

// FuzzRequest: no request of someone who has the password panics, and none does more than it may.
func FuzzRequest(f *testing.F) {
	f.Add("POST", dut+"/Actions/ComputerSystem.Reset", `{"ResetType": "ForceRestart"}`)
	f.Add("PATCH", dut, `{"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"}}`)
	f.Add("PATCH", dut, `{"Boot": null}`)
	f.Add("POST", sessionsPath, `{"UserName": "admin", "Password": "correct-horse"}`)
	f.Add("DELETE", sessionsPath+"/0", "")
	f.Add("GET", "/redfish/v1/Systems/../x//", "")
	silent := func(string) {}
	s := newService(Config{
		Control: power.NewController(f.Context(), &machines{}, silent), Guard: power.NewGuard(silent),
		Nodes: []string{"dut"}, User: rightUser, Password: rightPassword,
	})
	handler := s.handler()
	f.Fuzz(func(t *testing.T, method, path, body string) {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " \r\n") {
			return
		}
		r, err := http.NewRequest(method, "http://x"+path, strings.NewReader(body))
		if err != nil {
			return
		}
		r.RemoteAddr = "127.0.0.1:1"
		r.SetBasicAuth(rightUser, rightPassword)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		if len(s.sessions.known) > mostSessions {
			t.Errorf("%d sessions", len(s.sessions.known))
		}
	})
}
