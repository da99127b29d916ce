package reproduce

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/expect"
	"nines.dev/nines/report/figure"
	"nines.dev/nines/result"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"class": classOf}).Parse(pageText))

// pageData is everything that the page of a paper shows.
type pageData struct {
	*Document
	Paper  PaperClaims
	Claims []pageClaim
}

// pageClaim is a claim with its figure.
type pageClaim struct {
	ClaimDocument
	// Drawn is the figure of its measurement, with the published curves; empty: none.
	Drawn template.HTML
	// Notes are those of the figure.
	Notes []string
	// Report is the page of the measurement.
	Report string
}

// WritePage writes the page of the paper at an index; dir is the folder of the reproduction, which has the results.
func (d *Document) WritePage(w io.Writer, at int, dir string) error {
	data := pageData{Document: d, Paper: d.Papers[at]}
	for _, c := range data.Paper.Claims {
		one := pageClaim{ClaimDocument: c}
		switch {
		case c.Judged != nil && c.Result != "":
			one.Report = filepath.ToSlash(filepath.Join(c.Result, result.ReportFile))
			one.draw(one.measured(filepath.Join(dir, c.Result)))
		case c.Judged != nil && len(c.Expected) > 0:
			one.draw(one.published(d.Data, data.Paper.Cite()))
		}
		data.Claims = append(data.Claims, one)
	}
	return page.Execute(w, data)
}

// measured is the figure of the result in a folder, with the published points that its experiment has.
func (c *pageClaim) measured(dir string) (*figure.Figure, error) {
	r, err := result.Open(dir)
	if err != nil {
		return nil, err
	}
	o := figure.Options{Kind: figure.HDR}
	if c.Figure != "" {
		o.Kind = figure.Kind(c.Figure)
	}
	o.Percentile, o.Undisturbed = c.latency()
	return figure.Of([]figure.Input{{Result: r}}, o)
}

// latency is the latency that the claim is about, by its name in summary.json, and whether it is that without the host's
// interruptions; empty: none.
func (c *pageClaim) latency() (name string, undisturbed bool) {
	for _, text := range c.Holds {
		e, err := expect.Parse(text)
		if err == nil && e.Subject.Dimension() == expect.Time && e.Subject.Intervals == "" {
			return strings.ReplaceAll(e.Subject.Figure, ".", "_"), e.Subject.Undisturbed
		}
	}
	return "", false
}

// published is the figure of the published percentiles below a folder.
func (c *pageClaim) published(root, source string) (*figure.Figure, error) {
	o := figure.Options{Kind: figure.HDR}
	for _, name := range slices.Sorted(maps.Keys(c.Data)) {
		one := c.Data[name]
		if one.Percentiles == "" {
			continue
		}
		p, err := figure.ReadPublished(filepath.Join(root, one.Percentiles), name, source)
		if err != nil {
			return nil, err
		}
		o.Published = append(o.Published, p)
	}
	return figure.Of(nil, o)
}

// draw draws a figure. Where there is nothing to draw, the page says why: the values are there.
func (c *pageClaim) draw(f *figure.Figure, err error) {
	var drawn bytes.Buffer
	if err == nil {
		err = f.Write(&drawn, "svg", figure.Size{Width: figure.PageWidth})
	}
	if err != nil {
		c.Notes = []string{err.Error()}
		return
	}
	c.Drawn, c.Notes = template.HTML(drawn.Bytes()), f.Notes // the package writes the names in it as text
}

func classOf(v Verdict) string {
	switch v {
	case Held:
		return "holds"
	case Different:
		return "differs"
	}
	return "open"
}
