package spec

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"nines.dev/nines/terminal"
)

// Meaning summarises a file for a reader: nines validate prints it.
type Meaning struct {
	File  string        `json:"file"`
	Name  string        `json:"name"`
	Nodes []NodeMeaning `json:"nodes"`
	Links []LinkMeaning `json:"links"`
	// Sweep lists the swept keys in order, each with its values.
	Sweep []SweepMeaning `json:"sweep"`
	// Duet says what the two sides are, and what is asked of them; nil without a duet.
	Duet *DuetMeaning `json:"duet,omitempty"`
	// Expect is what has to be true of what is measured.
	Expect []string `json:"expect,omitempty"`
	// Traffic describes the first run's traffic in one line; empty without one.
	Traffic string `json:"traffic,omitempty"`
	// Management describes the management network in one line; empty without one.
	Management string `json:"management,omitempty"`
	// Method is the kind of a method other than a sweep, and Searches how often it runs: once for
	// each run and repeat.
	Method   MethodKind `json:"method,omitempty"`
	Searches int        `json:"searches,omitempty"`
	Runs     int        `json:"runs"`
	Repeat   int        `json:"repeat"`
	// Trials is Runs × Repeat; 0 without traffic and scripts, and where a search decides how many.
	Trials int `json:"trials"`
	// Maxima is how many trials at rate 0 find the maxima that rate_of_maximum refers to.
	Maxima int `json:"maxima,omitempty"`
	// TrialTimeSeconds is warm-up, duration and drain of all trials and maxima, without building
	// the lab and without baselines.
	TrialTimeSeconds float64 `json:"trial_time_seconds"`
}

// NodeMeaning is a node in one line.
type NodeMeaning struct {
	Name       string   `json:"name"`
	Runtime    Runtime  `json:"runtime"`
	Interfaces []string `json:"interfaces"`
	App        AppKind  `json:"app,omitempty"`
	// Leaves is how packets leave a device, and Seen what must be seen of them where they arrive.
	Leaves Leaves `json:"leaves,omitempty"`
	Seen   string `json:"seen,omitempty"`
}

// LinkMeaning is a link in one line.
type LinkMeaning struct {
	Name      string   `json:"name"`
	Kind      LinkKind `json:"kind"`
	Endpoints []string `json:"endpoints"`
}

// DuetMeaning is a duet in a few lines.
type DuetMeaning struct {
	A   string   `json:"a"`
	B   string   `json:"b"`
	Ask []string `json:"ask"`
	For Duration `json:"for"`
}

// SweepMeaning is a swept key with its values as text.
type SweepMeaning struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
}

// Meaning checks the file and summarises it.
func (f *File) Meaning() (*Meaning, error) {
	runs, err := f.Runs()
	if err != nil {
		return nil, err
	}
	e := runs[0].Experiment
	duet := e.Duet
	if duet != nil {
		e = runs[0].sides[0] // its names are the file's
	}
	m := &Meaning{File: f.name, Name: e.Name, Runs: len(runs), Repeat: e.Repeat, Sweep: []SweepMeaning{}, Links: []LinkMeaning{}}
	for _, one := range f.Expectations() {
		m.Expect = append(m.Expect, one.Text)
	}
	if e.Management != nil {
		m.Management = e.Management.line()
	}
	interfaces := map[string][]string{}
	for _, link := range e.Topology.Links {
		m.Links = append(m.Links, LinkMeaning{link.Name, link.Kind, link.Endpoints})
		for _, endpoint := range link.Endpoints {
			name, iface := splitEndpoint(endpoint)
			interfaces[name] = append(interfaces[name], iface)
		}
	}
	for _, entry := range f.root.at([]string{"topology", "nodes"}).entries {
		name := entry.key.text
		n := e.Topology.Nodes[name]
		one := NodeMeaning{Name: name, Runtime: n.Runtime, Interfaces: append([]string{}, interfaces[name]...)}
		if n.App != nil {
			one.App, one.Leaves, one.Seen = n.App.Kind, n.App.Leaves, n.App.Leaves.Descriptor().Seen
		}
		m.Nodes = append(m.Nodes, one)
	}
	m.sweep(runs)
	if e.Traffic == nil {
		if e.RunsScripts() {
			m.Trials = m.Runs * m.Repeat
		}
		return m, nil
	}
	m.Traffic = e.Traffic.line(e.Method)
	if duet != nil {
		m.Duet, m.Trials = duet.meaning(), 1
		m.TrialTimeSeconds = duet.Sides[0].Traffic.Lasts().Seconds()
		return m, nil
	}
	var each, maxima time.Duration
	found := map[string]bool{}
	for _, run := range runs {
		t := run.Experiment.Traffic
		if method := run.Experiment.Method; !method.Plain() {
			m.Searches += m.Repeat
			if m.Method == "" {
				m.Method = method.Kind
			}
			if method.Search() {
				continue
			}
		} else {
			m.Trials += m.Repeat
		}
		each += t.Lasts()
		if t.RateOfMaximum == 0 {
			continue
		}
		key, err := json.Marshal(run.Experiment.AtMost())
		if err != nil {
			return nil, fmt.Errorf("comparing runs: %w", err)
		}
		if !found[string(key)] {
			found[string(key)] = true
			m.Maxima++
			maxima += t.Lasts()
		}
	}
	m.TrialTimeSeconds = each.Seconds()*float64(m.Repeat) + maxima.Seconds()
	return m, nil
}

// sweep gathers each variable's values in the order of their first run.
func (m *Meaning) sweep(runs []Run) {
	for i, v := range runs[0].Variables {
		one := SweepMeaning{Key: v.Path}
		seen := map[string]bool{}
		for _, run := range runs {
			if text := run.Variables[i].Text; !seen[text] {
				seen[text] = true
				one.Values = append(one.Values, text)
			}
		}
		m.Sweep = append(m.Sweep, one)
	}
}

// line describes the management network in one line.
func (m *Management) line() string {
	text := string(m.Mode)
	if m.Subnet != "" {
		text += ", " + m.Subnet
	}
	if m.Uplink != "" {
		text += ", on " + m.Uplink
	}
	if m.Addresses != "" {
		text += ", " + m.Addresses
	}
	text += ", mac " + string(m.MAC)
	if m.DNS {
		text += ", dns"
	}
	if len(m.SSHKeys) > 0 {
		text += ", keys of " + strings.Join(m.SSHKeys, " ")
	}
	return text
}

// line describes the traffic in one line.
func (t *Traffic) line(method *Method) string {
	rate := fmt.Sprintf("%g packets/s", t.RatePPS)
	switch {
	case method.Search():
		rate = "at the rates that " + string(method.Kind) + " finds"
	case t.RateBits > 0:
		rate = t.RateBits.String()
	case t.RateOfMaximum > 0:
		rate = fmt.Sprintf("%g of the most that is received", t.RateOfMaximum)
	case t.RatePPS == 0:
		rate = "unlimited rate"
	}
	return fmt.Sprintf("%s to %s, %d bytes%s, %s, %s, backend %s, io %s, wait %s",
		t.From, t.To, t.FrameBytes, t.Version(), rate, t.Pattern, t.Backend, t.IO, t.Wait)
}

// Write prints the meaning for a terminal. Long lists of nodes and links are cut.
func (m *Meaning) Write(w io.Writer) error {
	const most = 20
	t := &terminal.Table{}
	row := func(name string, cells ...any) { t.Row(append([]any{"  " + name}, cells...)...) }
	t.Row(m.File + ": valid")
	row("name", m.Name)
	row("nodes", len(m.Nodes))
	for _, n := range m.Nodes[:min(most, len(m.Nodes))] {
		text := string(n.Runtime)
		if n.App != "" {
			text += ", " + string(n.App)
		}
		if n.Leaves != "" {
			text += " (" + string(n.Leaves) + ")"
		}
		row("", n.Name, text, strings.Join(n.Interfaces, " "))
		if n.Seen != "" {
			row("", "", "must be seen of its packets: "+n.Seen)
		}
	}
	row("links", len(m.Links))
	for _, l := range m.Links[:min(most, len(m.Links))] {
		row("", l.Name, l.Kind, terminal.Listed(l.Endpoints))
	}
	if m.Management != "" {
		row("management", m.Management)
	}
	if m.Traffic != "" {
		row("traffic", m.Traffic)
	}
	for _, s := range m.Sweep {
		row("sweep", s.Key, fmt.Sprintf("%d values", len(s.Values)), terminal.Listed(s.Values))
	}
	if d := m.Duet; d != nil {
		row("side a", d.A)
		row("side b", d.B)
		row("asked", terminal.Listed(d.Ask))
	}
	switch {
	case m.Duet != nil:
		row("trials", fmt.Sprintf("1, with both sides at the same time, which ends as soon as all asked is decided, and after %s at the latest", m.Duet.For))
	case m.Traffic == "" && m.Trials > 0:
		row("trials", fmt.Sprintf("%d (runs %d, repeat %d) of scripts", m.Trials, m.Runs, m.Repeat))
	case m.Traffic == "":
		row("trials", "none: a lab to bring up with nines up")
	case m.Method.Descriptor().Soak:
		row("soaks", fmt.Sprintf("%d (runs %d, repeat %d), in windows that are kept as they end", m.Searches, m.Runs, m.Repeat))
	case m.Searches > 0 && m.Trials > 0:
		row("trials", fmt.Sprintf("%d, and %d searches by %s and others, each of as many trials as it takes", m.Trials, m.Searches, m.Method))
	case m.Searches > 0:
		row("searches", fmt.Sprintf("%d by %s (runs %d, repeat %d), each of as many trials as it takes", m.Searches, m.Method, m.Runs, m.Repeat))
	default:
		took := time.Duration(m.TrialTimeSeconds * float64(time.Second)).Round(100 * time.Millisecond)
		maxima := ""
		if m.Maxima > 0 {
			maxima = fmt.Sprintf(" and %d at rate 0 for the maximum", m.Maxima)
		}
		row("trials", fmt.Sprintf("%d (runs %d, repeat %d)%s, %s in all with warm-up and drain", m.Trials, m.Runs, m.Repeat, maxima, took))
	}
	for _, text := range m.Expect {
		row("expected", text)
	}
	return t.Write(w, terminal.Style{})
}
