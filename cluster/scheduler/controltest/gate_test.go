package controltest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

func TestStepsAreReadFromPaths(t *testing.T) {
	for _, c := range []struct{ method, path, kind, name string }{
		{http.MethodPost, "/api/v1/namespaces/default/pods/a/binding", "POST pods/binding", "a"},
		{http.MethodPatch, "/api/v1/namespaces/default/pods/a/status", "PATCH pods/status", "a"},
		{http.MethodPut, "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c/status", "PUT resourceclaims/status", "c"},
		{http.MethodPut, "/apis/nines.dev/v1alpha1/nodelatencies/n1", "PUT nodelatencies", "n1"},
		{http.MethodPost, "/apis/nines.dev/v1alpha1/nodelatencies", "POST nodelatencies", ""},
		{http.MethodPost, "/apis/events.k8s.io/v1/namespaces/default/events", "POST events", ""},
		{http.MethodDelete, "/api/v1/namespaces/default", "DELETE namespaces", "default"},
		{http.MethodGet, "/api/v1/nodes", "", ""},
		{http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", "", ""},
		{http.MethodPost, "/healthz", "", ""},
	} {
		step, changes := stepOf(httptest.NewRequest(c.method, "https://localhost"+c.path, nil))
		if changes != (c.kind != "") || step.Kind != c.kind || step.Name != c.name {
			t.Errorf("%s %s: %t, %+v", c.method, c.path, changes, step)
		}
	}
}

// A gate acts once, at the n-th step of a kind, and on the moment asked for.
func TestAGateActsOnce(t *testing.T) {
	var done []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		done = append(done, r.URL.Path)
	}))
	defer server.Close()
	p := &Plane{Config: &rest.Config{Host: server.URL}}
	g := p.NewGate(t)
	client := server.Client()
	post := func(name string) error {
		answer, err := client.Post(g.URL+"/api/v1/nodes/"+name, "application/json", http.NoBody)
		if err == nil {
			err = answer.Body.Close()
		}
		return err
	}
	for _, when := range []Moment{Before, After} {
		done = nil
		reached := g.At("POST nodes", 2, when, func(Step) bool { done = append(done, "act"); return false })
		for i, name := range []string{"a", "b", "c"} {
			if err := post(name); (err != nil) != (i == 1) {
				t.Errorf("%s: step %d: %v", when, i, err)
			}
		}
		if step := <-reached; step.Name != "b" {
			t.Errorf("%s: it acted at %+v", when, step)
		}
		want := map[Moment]string{Before: "/api/v1/nodes/a act /api/v1/nodes/c", After: "/api/v1/nodes/a /api/v1/nodes/b act /api/v1/nodes/c"}[when]
		if got := strings.Join(done, " "); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	if steps := g.Steps(); len(steps) != 6 {
		t.Errorf("it counts %d steps", len(steps))
	}
}
