package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab"
	"nines.dev/nines/lab/graph"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// graphFormats are the ways to draw a network, and how the names of their files end.
var graphFormats = []struct {
	name    string
	endings []string
	draw    func(io.Writer, *plan.Plan) error
}{
	{"text", []string{".txt"}, drawWords},
	{"svg", []string{".svg"}, graph.SVG},
	{"png", []string{".png"}, graph.PNG},
	{"mermaid", []string{".mermaid", ".mmd"}, graph.Mermaid},
	{"dot", []string{".dot", ".gv"}, graph.Dot},
}

// graphCall holds the options of nines graph.
type graphCall struct {
	file        labFile
	format, out string
	lab         string
}

func newGraphCommand() *cobra.Command {
	var call graphCall
	c := &cobra.Command{
		Use:        "graph [NAME|FILE]",
		Short:      "Draw the network of a lab or of a file",
		SuggestFor: []string{"draw", "diagram", "topology", "net"},
		Long: `Draw the network of a running lab, or of an experiment file without building it: in the
terminal, or with -o into a file whose name says how: .svg for a browser or a paper, .png,
.mmd (Mermaid) for Markdown, .dot for Graphviz, .txt. The path of the measured traffic is
highlighted. A network that is wider than the terminal is listed instead.`,
		Example: `  nines graph
  nines graph examples/quickstart.yaml
  nines graph examples/quickstart.yaml -o quickstart.svg
  nines graph lab.yaml --format mermaid
  nines graph --format dot | dot -Tpdf > lab.pdf`,
		Args: atMostOneLab,
		RunE: func(c *cobra.Command, args []string) error {
			draw, err := call.how()
			if err != nil {
				return err
			}
			said, err := oneLab(args, call.lab)
			if err != nil {
				return err
			}
			p, err := call.file.planOf(said)
			if err != nil {
				return err
			}
			if call.out == "" {
				return draw(c.OutOrStdout(), p)
			}
			return writeWhole(call.out, func(out io.Writer) error { return draw(out, p) })
		},
	}
	call.file.flags(c)
	labFlag(c, &call.lab)
	c.Flags().StringVar(&call.format, "format", "", "text, svg, png, mermaid or dot (default: by the ending of --out, or text)")
	c.Flags().StringVarP(&call.out, "out", "o", "", "the file to write (default: standard output)")
	return c
}

// how finds the format by its name, or by the ending of the file.
func (g graphCall) how() (func(io.Writer, *plan.Plan) error, error) {
	var names, endings []string
	for _, f := range graphFormats {
		names, endings = append(names, f.name), append(endings, f.endings...)
		if f.name == g.format || g.format == "" && slices.Contains(f.endings, strings.ToLower(filepath.Ext(g.out))) {
			return f.draw, nil
		}
	}
	if g.format != "" {
		return nil, exit.Wrongf("unknown --format %q; %s", g.format, terminal.Choose(g.format, "allowed:", names))
	}
	if g.out != "" {
		return nil, exit.Wrongf("the name %s does not say how to draw; let it end with one of %s, or name a --format", g.out, strings.Join(endings, ", "))
	}
	return drawWords, nil
}

// drawWords draws as wide as the terminal is.
func drawWords(out io.Writer, p *plan.Plan) error {
	columns := 0 // a file or a pipe takes any
	if style := terminal.StyleOf(out); style.Terminal {
		columns = style.Columns
	}
	return graph.Words(out, p, columns, !terminal.UTF8())
}

// planOf returns the plan of a file, or of a lab that is up. A file comes first, because it may
// differ from what runs.
func (l *labFile) planOf(said string) (*plan.Plan, error) {
	if info, err := os.Stat(said); said == spec.Stdin || said != "" && err == nil && !info.IsDir() {
		l.path = said
		p, err := l.plan()
		return p.Plan, err
	}
	name, err := labName(said)
	if err != nil {
		return nil, err
	}
	running, err := lab.Open(name)
	if err != nil {
		return nil, err
	}
	return running.Plan(), nil
}
