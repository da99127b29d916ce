package controltest

import (
	"crypto/tls"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Gate is a way to the API server on which a test can act at any step of a program: kill the program
// or the API server, or take something away.
//
//	scheduler or agent ── HTTPS ──> gate ── HTTPS ──> kube-apiserver
//	                                  └─ at a step: what the test does
//
// It is safe for concurrent use.
type Gate struct {
	// URL is what the program takes for the API server.
	URL   string
	proxy *httputil.ReverseProxy

	lock  sync.Mutex
	steps []Step
	plan  *plan
}

// Step is a request by which a program changes something.
type Step struct {
	// Kind is the method and what it is about: "POST pods/binding".
	Kind string
	// Name is the object's; empty where only the body has it.
	Name string
}

// Moment is when a gate acts.
type Moment string

// The moments: the API server has not got the request yet; or it was carried out, and the program
// has not heard of that.
const (
	Before Moment = "before"
	After  Moment = "after"
)

// Act is done at a step, by another goroutine than the test's. It reports whether the request goes on:
// that of a program which was killed does not.
type Act func(Step) (goesOn bool)

// plan is what is done once.
type plan struct {
	kind  string
	nth   int // of its kind, from 1
	when  Moment
	act   Act
	acted chan Step
}

// At acts at the n-th step of a kind from now on, once. The channel has the step when that is done.
func (g *Gate) At(kind string, nth int, when Moment, act Act) <-chan Step {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.plan = &plan{kind: kind, nth: nth, when: when, act: act, acted: make(chan Step, 1)}
	return g.plan.acted
}

// Steps are those so far.
func (g *Gate) Steps() []Step {
	g.lock.Lock()
	defer g.lock.Unlock()
	return slices.Clone(g.steps)
}

// pass notes a step, and returns what is planned for it.
func (g *Gate) pass(step Step) *plan {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.steps = append(g.steps, step)
	if g.plan == nil || g.plan.kind != step.Kind {
		return nil
	}
	if g.plan.nth--; g.plan.nth != 0 {
		return nil
	}
	return g.plan
}

func (p *plan) run(step Step) (goesOn bool) {
	goesOn = p.act(step)
	p.acted <- step
	return goesOn
}

// NewGate opens a gate, which is closed with the test.
func (p *Plane) NewGate(t testing.TB) *Gate {
	t.Helper()
	to, err := url.Parse(p.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	// A connection that breaks is what these tests are about.
	silent := log.New(io.Discard, "", 0)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	g := &Gate{proxy: &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     transport,
		FlushInterval: -1, // a watch tells at once
		ErrorLog:      silent,
		// The program sees what it would see without a gate: a connection that breaks.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}}
	server := httptest.NewUnstartedServer(g)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = silent
	server.StartTLS()
	g.URL = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		transport.CloseIdleConnections()
	})
	return g
}

// ServeHTTP hands a request over to the API server, and acts where that is planned.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	step, changes := stepOf(r)
	if !changes {
		g.proxy.ServeHTTP(w, r)
		return
	}
	planned := g.pass(step)
	switch {
	case planned == nil:
		g.proxy.ServeHTTP(w, r)
	case planned.when == Before:
		if !planned.run(step) {
			panic(http.ErrAbortHandler)
		}
		g.proxy.ServeHTTP(w, r)
	default:
		answer := httptest.NewRecorder()
		g.proxy.ServeHTTP(answer, r)
		if !planned.run(step) {
			panic(http.ErrAbortHandler)
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()) // a program that is gone does not hear it
	}
}

// stepOf reads the path of a request: /api/v1/namespaces/default/pods/a/binding,
// /apis/nines.dev/v1alpha1/nodelatencies/n1. A question of who someone is changes nothing.
func stepOf(r *http.Request) (Step, bool) {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return Step{}, false
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis" && parts[1] != "authentication.k8s.io" && parts[1] != "authorization.k8s.io":
		parts = parts[3:]
	default:
		return Step{}, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	step := Step{Kind: r.Method + " " + parts[0]}
	if len(parts) > 1 {
		step.Name = parts[1]
	}
	if len(parts) > 2 {
		step.Kind += "/" + parts[2]
	}
	return step, true
}
