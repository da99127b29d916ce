package main

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab"
	"nines.dev/nines/lab/graph"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// graphFormats are the ways to draw a network.
var graphFormats = map[string]func(io.Writer, *plan.Plan) error{
	"dot":     graph.Dot,
	"mermaid": graph.Mermaid,
	"svg":     graph.SVG,
}

func newGraphCommand() *cobra.Command {
	var format string
	var file labFile
	c := &cobra.Command{
		Use:        "graph [NAME|FILE]",
		Short:      "Draw the network of a lab or of a file",
		SuggestFor: []string{"draw", "diagram", "topology", "net"},
		Long: `Draw the network of a running lab, or of an experiment file without building it: as SVG
for a browser or a paper, as Mermaid for Markdown, or as dot for Graphviz. The path of
the measured traffic is highlighted.`,
		Example: `  nines graph examples/quickstart.yaml > quickstart.svg
  nines graph lab.yaml --format mermaid
  nines graph --format dot | dot -Tpdf > lab.pdf`,
		Args: atMostOneLab,
		RunE: func(c *cobra.Command, args []string) error {
			draw := graphFormats[format]
			if draw == nil {
				return exit.Wrongf("unknown --format %q; allowed: svg, mermaid, dot", format)
			}
			p, err := file.planOf(strings.Join(args, ""))
			if err != nil {
				return err
			}
			return draw(c.OutOrStdout(), p)
		},
	}
	file.flags(c)
	c.Flags().StringVar(&format, "format", "svg", "svg, mermaid or dot")
	return c
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
