package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/vg"

	"nines.dev/nines/exit"
	"nines.dev/nines/report/figure"
	"nines.dev/nines/terminal"
)

// figureCall holds the options of nines figure.
type figureCall struct {
	kind, format, out, repeats, percentile, width, height, source string
	trials, where, groupBy, panels, published                     []string
	bins                                                          string
	slowest                                                       int
	maxLatency                                                    time.Duration
	undisturbed                                                   bool
}

func newFigureCommand() *cobra.Command {
	var call figureCall
	c := &cobra.Command{
		Use:        "figure DIR[=LABEL]…",
		Short:      "Draw a figure for a paper from one or more results",
		SuggestFor: []string{"plot"},
		Long: `Draw a figure for a paper from one or more results, as SVG, PDF, PNG or PGF/TikZ.

  hdr         latency by percentile, both axes logarithmic
  histogram   number of packets by latency, in logarithmic bins
  intervals   number of packets by time since the packet before, at the sender and at
              the receiver (traffic.packets: record)
  worst       the slowest packets by their send time
  jitter      what kept the threads and CPUs on the packets' way from running: when, and
              for how long; also of 'nines trace jitter'
  rate        packets per second over time: offered, sent, received
  loss        loss by offered rate
  throughput  the result of searches; without a search, received by offered rate, or
              the highest received rate by frame size, or overall
  latency     a percentile by offered rate, or by frame size

Each combination of the swept variables is a curve, named by what differs. At most 8
curves can be told apart: more are divided into panels on one scale, by one or two of the
variables, or by those that you name with --panels. Published points are hollow and dotted, with their source below:
those of the experiment file, and with --published files in the formats that
'nines analyze' writes (percentiles, hist, worst, packetrate; also .gz and .zst). Fonts
are embedded, and the same results give the same bytes. nines prints notes for the
caption.`,
		Example: `  nines figure results/latest --kind hdr                        # hdr.svg, one column wide
  nines figure results/latest --kind hdr --where kind=veth,bridge --format pdf
  nines figure results/latest --kind throughput --width page --out figure2.pdf
  nines figure old=before results/latest=after --kind worst     # two results, with names
  nines figure results/latest --kind hdr --published percentiles.csv.zst='LXC' --source 'Doe et al., 2023, figure 4'`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 && len(call.published) == 0 {
				return exit.Wrongf("'%s' takes result folders, such as results/latest, or --published files; see '%s --help'", c.CommandPath(), c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return call.run(c, args) },
	}
	var kinds []string
	for _, k := range figure.Kinds() {
		kinds = append(kinds, string(k))
	}
	f := c.Flags()
	f.StringVar(&call.kind, "kind", "hdr", strings.Join(kinds, ", "))
	f.StringVar(&call.format, "format", "", strings.Join(figure.Formats(), ", ")+" (default: from the file name of --out, or svg)")
	f.StringVar(&call.out, "out", "", "the file to write, - for standard output (default KIND.FORMAT)")
	f.StringSliceVar(&call.trials, "trials", nil, "only these trials, such as 0001,0004-0006")
	f.StringArrayVar(&call.where, "where", nil, "only trials with this value, such as kind=veth,bridge (repeatable)")
	f.StringSliceVar(&call.groupBy, "group-by", nil, "one curve per value of these variables; trials that differ in others count as repeats")
	f.StringSliceVar(&call.panels, "panels", nil, "one panel per value of these variables, on one scale (default: by itself, with more curves than can be told apart)")
	f.StringVar(&call.repeats, "repeats", "auto", "how to show repeats: band, lines, none, or each (a curve per repeat); auto uses bands if there are few curves")
	f.StringVar(&call.percentile, "percentile", "p99", "for the kind latency: min, mean, p50, …, p99.9999, max")
	f.DurationVar(&call.maxLatency, "max-latency", 0, "end of the latency axis, such as 1000us (default: the maximum)")
	f.StringVar(&call.bins, "bins", "log", "for the kind histogram: log, or linear for bins of equal width")
	f.IntVar(&call.slowest, "slowest", 0, "for the kind worst: how many packets of each trial (default: one in 100, at least 50)")
	f.BoolVar(&call.undisturbed, "undisturbed", false, "for the kind hdr: also draw the latencies without the host's interruptions")
	f.StringArrayVar(&call.published, "published", nil, "also draw the published points of this file, FILE or FILE=LABEL (repeatable)")
	f.StringVar(&call.source, "source", "", "the source of the --published points (default: the files' names)")
	f.StringVar(&call.width, "width", "column", "width of the figure: column (85 mm), page (178 mm), or a length such as 120mm")
	f.StringVar(&call.height, "height", "", "height of the figure, such as 60mm (default: from the width and the legend)")
	return c
}

func (call *figureCall) run(c *cobra.Command, args []string) error {
	options, size, err := call.options()
	if err != nil {
		return err
	}
	var inputs []figure.Input
	for _, arg := range args {
		in, err := figureInput(arg)
		if err != nil {
			return err
		}
		complainOf(c.ErrOrStderr(), in.Result, in.Result.Problems)
		inputs = append(inputs, in)
	}
	nameApart(inputs)
	line := newProgressLine(c.ErrOrStderr())
	options.Progress = func(stage string, done, of int) { line.counted(stage)(done, of) }
	f, err := figure.Of(inputs, options)
	line.clear()
	if err != nil {
		return err
	}
	var drawn bytes.Buffer
	if err := f.Write(&drawn, call.format, size); err != nil {
		return err
	}
	if call.out == "-" {
		_, err := c.OutOrStdout().Write(drawn.Bytes())
		return err
	}
	if err := writeWhole(call.out, func(out io.Writer) error { _, err := drawn.WriteTo(out); return err }); err != nil {
		return err
	}
	terminal.Println(c.OutOrStdout(), call.out)
	for _, note := range f.Notes {
		terminal.Printf(c.OutOrStdout(), "  %s\n", note)
	}
	return nil
}

// options checks the flags before any file is read.
func (call *figureCall) options() (figure.Options, figure.Size, error) {
	o := figure.Options{Kind: figure.Kind(call.kind), GroupBy: call.groupBy, Panels: call.panels, LinearBins: call.bins == "linear", Slowest: call.slowest, Repeats: figure.Repeats(call.repeats),
		MaxLatencyNs: call.maxLatency.Nanoseconds(), Undisturbed: call.undisturbed, Percentile: strings.ReplaceAll(call.percentile, ".", "_")}
	var size figure.Size
	wrong := func(format string, args ...any) (figure.Options, figure.Size, error) {
		return figure.Options{}, figure.Size{}, exit.Wrongf(format, args...)
	}
	if !slices.Contains(figure.Kinds(), o.Kind) {
		return wrong("unknown --kind %q; allowed: %s", call.kind, kindNames())
	}
	if !slices.Contains([]figure.Repeats{figure.RepeatsAuto, figure.RepeatsBand, figure.RepeatsLines, figure.RepeatsNone, figure.RepeatsEach}, o.Repeats) {
		return wrong("unknown --repeats %q; allowed: auto, band, lines, none, each", call.repeats)
	}
	if o.Undisturbed && o.Kind != figure.HDR {
		return wrong("--undisturbed is for --kind hdr")
	}
	if call.bins != "log" && call.bins != "linear" {
		return wrong("unknown --bins %q; allowed: log, linear", call.bins)
	}
	if o.Slowest < 0 {
		return wrong("--slowest %d: it must be above 0", o.Slowest)
	}
	if o.MaxLatencyNs < 0 {
		return wrong("--max-latency %s: it must be above 0", call.maxLatency)
	}
	if call.format == "" {
		call.format = strings.TrimPrefix(filepath.Ext(call.out), ".")
		if call.out == "" || call.out == "-" {
			call.format = "svg"
		}
	}
	if !slices.Contains(figure.Formats(), call.format) {
		return wrong("unknown figure format %q; allowed: %s; name one with --format, or by the ending of --out", call.format, strings.Join(figure.Formats(), ", "))
	}
	if call.out == "" {
		call.out = call.kind + "." + call.format
	}
	var err error
	if o.Trials, err = trialIDs(call.trials); err != nil {
		return wrong("--trials: %w", err)
	}
	for _, where := range call.where {
		key, values, ok := strings.Cut(where, "=")
		if !ok || key == "" || values == "" {
			return wrong("--where %q: write KEY=VALUE or KEY=VALUE,VALUE, such as kind=veth", where)
		}
		o.Where = append(o.Where, figure.Condition{Key: key, Values: strings.Split(values, ",")})
	}
	if size.Width, err = length(call.width); err != nil {
		return wrong("--width %w", err)
	}
	if call.height != "" {
		if size.Height, err = length(call.height); err != nil {
			return wrong("--height %w", err)
		}
	}
	for _, file := range call.published {
		path, label := cutLabel(file)
		p, err := figure.ReadPublished(path, label, call.source)
		if err != nil {
			return figure.Options{}, figure.Size{}, err
		}
		if p.Kind != o.Kind {
			return wrong("--published %s: its points belong to the figure %s, not to %s", path, p.Kind, o.Kind)
		}
		o.Published = append(o.Published, p)
	}
	return o, size, nil
}

func kindNames() string {
	var names []string
	for _, k := range figure.Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// trialIDs expands lists such as 0001,0004-0006.
func trialIDs(list []string) ([]string, error) {
	var ids []string
	for _, one := range list {
		first, last, isRange := strings.Cut(one, "-")
		if !isRange {
			last = first
		}
		from, errFrom := strconv.Atoi(first)
		to, errTo := strconv.Atoi(last)
		if errFrom != nil || errTo != nil || from < 1 || to < from || to > 1_000_000 {
			return nil, fmt.Errorf("%q is not a trial; write 0001,0004-0006", one)
		}
		for id := from; id <= to; id++ {
			ids = append(ids, fmt.Sprintf("%04d", id))
		}
	}
	return ids, nil
}

// length parses 85mm, 3.3in, 240pt, or the name of a common width.
func length(text string) (vg.Length, error) {
	switch text {
	case "column":
		return figure.ColumnWidth, nil
	case "page":
		return figure.PageWidth, nil
	}
	l, err := vg.ParseLength(text)
	if err != nil || l < 10*vg.Millimeter || l > 2000*vg.Millimeter || strings.TrimRight(text, "0123456789.") == "" {
		return 0, fmt.Errorf("%q: write column, page or a length from 10mm to 2000mm, such as 85mm, 3.3in or 240pt", text)
	}
	return l, nil
}

// cutLabel splits PATH=LABEL, unless a file has that whole name.
func cutLabel(arg string) (path, label string) {
	if _, err := os.Stat(arg); err == nil {
		return arg, ""
	}
	path, label, _ = strings.Cut(arg, "=")
	return path, label
}

func figureInput(arg string) (figure.Input, error) {
	dir, label := cutLabel(arg)
	r, err := openResult(dir)
	if err != nil {
		return figure.Input{}, err
	}
	return figure.Input{Result: r, Label: label}, nil
}

// nameApart names several results after their experiments, and adds the time to equal names. One
// result needs no name.
func nameApart(inputs []figure.Input) {
	if len(inputs) == 1 {
		return
	}
	for i, in := range inputs {
		if in.Label == "" {
			inputs[i].Label = in.Result.Summary.Name
		}
	}
	counts := map[string]int{}
	for _, in := range inputs {
		counts[in.Label]++
	}
	seen := map[string]int{}
	for i, in := range inputs {
		if counts[in.Label] == 1 {
			continue
		}
		label := in.Label + " " + in.Result.Summary.Started.UTC().Format("2006-01-02 15:04:05")
		if seen[label]++; seen[label] > 1 {
			label += fmt.Sprintf(" (%d)", seen[label])
		}
		inputs[i].Label = label
	}
}
