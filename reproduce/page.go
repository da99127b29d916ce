package reproduce

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
	"path/filepath"

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
		if c.Judged != nil && c.Result != "" {
			one.Report = filepath.ToSlash(filepath.Join(c.Result, result.ReportFile))
			one.draw(filepath.Join(dir, c.Result))
		}
		data.Claims = append(data.Claims, one)
	}
	return page.Execute(w, data)
}

// draw draws the figure of the claim. Where there is nothing to draw, the page has none: the values are there.
func (c *pageClaim) draw(dir string) {
	r, err := result.Open(dir)
	if err != nil {
		c.Notes = []string{err.Error()}
		return
	}
	kind := figure.HDR
	if c.Figure != "" {
		kind = figure.Kind(c.Figure)
	}
	f, err := figure.Of([]figure.Input{{Result: r}}, figure.Options{Kind: kind})
	if err != nil {
		c.Notes = []string{err.Error()}
		return
	}
	var drawn bytes.Buffer
	if err := f.Write(&drawn, "svg", figure.Size{Width: figure.PageWidth}); err != nil {
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
