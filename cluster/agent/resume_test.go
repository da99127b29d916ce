package agent

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/client"
)

// shelf is an API server with one object of the node's figures, or none yet.
type shelf struct {
	object []byte
	// away answers nothing but errors.
	away bool
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	body := json.RawMessage{}
	switch {
	case s.away:
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":500}`))
		return
	case r.Method == http.MethodPost || r.Method == http.MethodPut:
		if json.NewDecoder(r.Body).Decode(&body) == nil {
			s.object = body
		}
	case s.object == nil:
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`))
		return
	}
	_, _ = w.Write(s.object)
}

func (s *shelf) client(t *testing.T) *client.Client {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	objects, err := client.New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// started is an agent with trials of 1,000 packets.
func (s *shelf) started(t *testing.T) *Agent {
	t.Helper()
	tiers, err := measure.Tiers([]string{"veth"})
	if err != nil {
		t.Fatal(err)
	}
	return &Agent{
		Node: "n1", Tiers: tiers, Load: measure.Load{RatePPS: 1000, FrameBytes: 64, Duration: time.Second}, Interval: 5 * time.Minute,
		Kube: fake.NewClientset(node.DeepCopy()), Metrics: NewMetrics(), Objects: s.client(t), asked: map[string]time.Time{},
		window: measure.Window{Length: time.Hour, Valid: 15 * time.Minute},
	}
}

// tells publishes what the agent knows.
func (a *Agent) tells(t *testing.T) {
	t.Helper()
	figures, err := a.window.Figures(time.Now())
	if err == nil {
		err = a.publish(context.Background(), node, figures)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// bounds are the percentiles that are published with a bound.
func (s *shelf) bounds(t *testing.T) []string {
	t.Helper()
	var object v1alpha1.NodeLatency
	if err := json.Unmarshal(s.object, &object); err != nil || len(object.Figures) != 1 {
		t.Fatalf("%s: %v", s.object, err)
	}
	var list []string
	for _, p := range object.Figures[0].Percentiles {
		if p.UpperNs != nil {
			list = append(list, p.P)
		}
	}
	return list
}

// TestAnAgentThatIsStartedAgainStillHasItsHour: pods that request a p99.99 are placed by it all the time.
func TestAnAgentThatIsStartedAgainStillHasItsHour(t *testing.T) {
	s := &shelf{}
	before := s.started(t)
	for i := range 50 {
		before.window.Add(took(50*time.Microsecond, time.Now().Add(time.Duration(i-50)*time.Minute)))
	}
	before.tells(t)
	if !slices.Contains(s.bounds(t), "99.99") {
		t.Fatalf("50,000 packets tell %v", s.bounds(t))
	}
	for _, away := range []bool{false, true} {
		after := s.started(t)
		s.away = away
		pause := after.first(t.Context(), time.Now())
		if away != (pause == 0) || after.resumed == away {
			t.Errorf("with the API server away %t: the first round in %s, resumed %t", away, pause, after.resumed)
		}
		s.away = false
		after.window.Add(took(50*time.Microsecond, time.Now()))
		if !after.resumed {
			if _, err := after.resume(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		after.tells(t)
		if !slices.Contains(s.bounds(t), "99.99") {
			t.Errorf("with the API server away %t, the agent tells %v after its first trial", away, s.bounds(t))
		}
	}
}

// TestOnlyItsOwnFiguresAreGoneOnWith: others publish figures of tiers of theirs.
func TestOnlyItsOwnFiguresAreGoneOnWith(t *testing.T) {
	a := (&shelf{}).started(t)
	a.Between = &Between{}
	for way, own := range map[measure.Way]bool{
		{Tier: "veth"}:                          true,
		{Tier: "my-tier"}:                       false,
		{Tier: measure.NodeNetwork, Peer: "n2"}: true,
		{Tier: "ovn", Peer: "n2"}:               true,
		{Tier: "my-tier", Peer: "n2"}:           false,
	} {
		if got := a.measures(v1alpha1.Figure{Tier: way.Tier, Peer: way.Peer}); got != own {
			t.Errorf("%+v is its own: %t", way, got)
		}
	}
}
