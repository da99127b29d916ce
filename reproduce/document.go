package reproduce

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/terminal"
)

// Schema names the format of the document in JSON.
const Schema = "nines/reproduce/v1"

// DocumentFile is the file of a reproduction's folder that has the document.
const DocumentFile = "reproduce.json"

// Document is what is known of claims on a host, before anything is measured or after.
type Document struct {
	Schema string `json:"schema"`
	// Started is when the measurements began; zero before.
	Started time.Time `json:"started,omitzero"`
	// Command is what was called, as a user types it.
	Command string `json:"command,omitempty"`
	Quick   bool   `json:"quick"`
	// Data is the folder of published measurements; empty: none.
	Data   string        `json:"data,omitempty"`
	Host   HostDocument  `json:"host"`
	Papers []PaperClaims `json:"papers"`
}

// HostDocument is the machine, as a reader of a table wants to know it.
type HostDocument struct {
	CPUs         int    `json:"cpus"`
	CPU          string `json:"cpu,omitempty"`
	Kernel       string `json:"kernel"`
	Distribution string `json:"distribution,omitempty"`
	Hypervisor   string `json:"hypervisor,omitempty"`
}

// PaperClaims is a paper with its claims.
type PaperClaims struct {
	ID      string   `json:"id"`
	Authors string   `json:"authors"`
	Title   string   `json:"title"`
	In      string   `json:"in"`
	Year    int      `json:"year"`
	SetUp   string   `json:"set_up"`
	Differs []string `json:"differs"`
	// TakesS is about how long deciding what is decidable here takes, in seconds.
	TakesS float64         `json:"takes_s"`
	Claims []ClaimDocument `json:"claims"`
}

// ClaimDocument is a claim with what it needs, and with its verdict if it was judged.
type ClaimDocument struct {
	ID         string   `json:"id"`
	Source     string   `json:"source"`
	Claim      string   `json:"claim"`
	Kind       Kind     `json:"kind"`
	Published  []string `json:"published"`
	Needs      string   `json:"needs"`
	Experiment string   `json:"experiment,omitempty"`
	Holds      []string `json:"holds"`
	TakesS     float64  `json:"takes_s"`
	// Missing is what the host lacks; none: the claim is decidable here.
	Missing []string `json:"missing"`
	Differs []string `json:"differs"`
	Figure  string   `json:"figure,omitempty"`
	// Data are the published files, by names, that the claim is judged by.
	Data map[string]Data `json:"data,omitempty"`
	*Judged
}

// NewDocument describes papers on a host.
func NewDocument(papers []Paper, h Host, quick bool) *Document {
	d := &Document{Schema: Schema, Quick: quick, Data: h.Data, Host: hostDocument(h.Inventory), Papers: []PaperClaims{}}
	for _, p := range papers {
		one := PaperClaims{ID: p.ID, Authors: p.Authors, Title: p.Title, In: p.In, Year: p.Year, SetUp: p.SetUp, Differs: list(p.Differs), Claims: []ClaimDocument{}}
		for _, c := range p.Claims {
			described := ClaimDocument{ID: c.ID, Source: c.Source, Claim: c.Text, Kind: c.Kind, Published: list(c.Published), Needs: c.NeedsText(h), Holds: list(c.Holds),
				TakesS: c.Takes(quick).Seconds(), Missing: list(c.Missing(h)), Differs: list(c.Differs), Figure: c.Figure, Data: c.Data}
			if c.Measure != nil {
				described.Experiment = "examples/" + c.Measure.Experiment
			}
			one.Claims = append(one.Claims, described)
		}
		for _, r := range Runs([]Paper{p}, h, quick) {
			one.TakesS += r.Claims[0].Claim.Takes(quick).Seconds()
		}
		d.Papers = append(d.Papers, one)
	}
	return d
}

func hostDocument(inv *host.Inventory) HostDocument {
	d := HostDocument{CPUs: len(inv.AllowedCPUs), Kernel: inv.Kernel.Release, Distribution: inv.Distribution.Name, Hypervisor: inv.Virtualisation.Hypervisor}
	if len(inv.CPUs) > 0 {
		d.CPU = inv.CPUs[0].Model
	}
	return d
}

// String is the host in one line.
func (h HostDocument) String() string {
	text := terminal.Count(h.CPUs, "CPU")
	if h.CPU != "" {
		text += " (" + h.CPU + ")"
	}
	if h.Hypervisor != "" {
		text += " of a virtual machine (" + h.Hypervisor + ")"
	}
	return text + ", Linux " + h.Kernel
}

// Add notes what was judged.
func (d *Document) Add(judged ...Judged) {
	for i := range d.Papers {
		for j := range d.Papers[i].Claims {
			c := &d.Papers[i].Claims[j]
			for _, one := range judged {
				if one.Paper == d.Papers[i].ID && one.Claim == c.ID {
					c.Judged = &one
				}
			}
		}
	}
}

// Close gives claims without a verdict one: that they are not decidable here, for what the host lacks.
func (d *Document) Close() {
	for i := range d.Papers {
		for j := range d.Papers[i].Claims {
			c := &d.Papers[i].Claims[j]
			if c.Judged != nil {
				continue
			}
			why := c.Missing
			if len(why) == 0 {
				why = []string{"it was not measured: the call ended before"}
			}
			c.Judged = &Judged{Paper: d.Papers[i].ID, Claim: c.ID, Verdict: NotDecidable, Because: why}
		}
	}
}

// Count returns how many claims have a verdict.
func (p PaperClaims) Count(v Verdict) int {
	n := 0
	for _, c := range p.Claims {
		if c.Judged != nil && c.Verdict == v {
			n++
		}
	}
	return n
}

// Decidable counts the claims for which the host lacks nothing.
func (p PaperClaims) Decidable() int {
	n := 0
	for _, c := range p.Claims {
		if len(c.Missing) == 0 {
			n++
		}
	}
	return n
}

// Cite is the paper in one line.
func (p PaperClaims) Cite() string {
	return fmt.Sprintf("%s: %s. %s, %d", p.Authors, p.Title, p.In, p.Year)
}

// Open reads the document of a reproduction's folder.
func Open(dir string) (*Document, error) {
	path := filepath.Join(dir, DocumentFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, exit.Wrongf("%s: %w; give the folder of a reproduction, such as results/reproduce/2026-11-20T18-30-05Z", dir, err)
	}
	var d Document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, exit.Wrongf("%s: %w", path, err)
	}
	if d.Schema != Schema {
		return nil, exit.Wrongf("%s: its schema is %q, not %q", path, d.Schema, Schema)
	}
	return &d, nil
}

// list is never null in JSON.
func list(of []string) []string {
	if of == nil {
		return []string{}
	}
	return of
}
