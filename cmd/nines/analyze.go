package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/analyze"
	"nines.dev/nines/exit"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal/command"
)

// analyzeCall holds the options of nines analyze.
type analyzeCall struct {
	options analyze.Options
	key     string
	depth   string
	out     string
	page    string
	without string
	format  string
}

func newAnalyzeCommand() *cobra.Command {
	var call analyzeCall
	var points analyzePoints
	c := &cobra.Command{
		Use:   "analyze [PRE POST]",
		Short: "Evaluate a pair of captures from before and after a device",
		Long: `Evaluate a pair of captures. PRE was taken before the device or network under test,
POST after it. nines finds each packet in both captures by a key. The packet's latency
is the difference of its two times, exact to the nanosecond. Captures may be pcap,
pcapng or MoonSniff's .mscap, plain or compressed with gzip, zstd, lz4 or xz.

A capture may be several files: --pre 'pre*.pcap' --post 'post*.pcap', in quotes. One
file may have both points: --pre-interface and --post-interface choose them, by a name
or number in pcapng, or by the kernel's number in captures of all interfaces (Linux
cooked v2); so do a direction, where the file says it, and filters.

--out DIR writes the files of the published evaluation (docs/analyze.md), named after
PRE, and a result folder DIR/NAME/TIME for report, compare and figure. latency-ts has a
row of about 45 bytes for each packet. --without skips files. --page FILE writes the
result's page alone: latency and loss over time, the clocks, and the slowest packets by
their numbers in both files, so that Wireshark finds them.

Traffic in both directions is two rows: from PRE to POST, and the answers from POST to
PRE. Both together show how far the clocks can be apart.

Loss is reported in two ways: packets whose key does not arrive, and the difference of
the packet counts. nines reports an offset between the two clocks, but corrects it only
if --offset gives it. A damaged file is used as far as it is readable: the report says
so, the verdict is noisy, and the exit code is 0. The exit code is 2 if the two files
are not a pair.`,
		Example: `  nines analyze pre.pcap post.pcap                          # look at it
  nines analyze pre.pcap.zst post.pcap.zst --out results    # and keep it
  nines report results/latest
  nines analyze pre.pcap post.pcap --page pair.html         # see it, without a folder
  nines analyze pre.pcap post.pcap --depth all              # packets that differ only far behind
  nines analyze --pre 'pre*.pcap' --post 'post*.pcap'       # of rotated captures
  nines analyze both.pcapng --pre-interface eth0 --post-interface eth1
  nines analyze pre.pcap post.pcap --filter 'udp port 5001' # of this traffic only
  nines analyze pre.pcap post.pcap --key flow --trim 1s     # by id and ports, without the first second
  nines analyze pre.pcap post.pcap --format json | jq .latency_ns.p99_9`,
		Args: func(c *cobra.Command, args []string) error { return points.args(c, args) },
		RunE: func(c *cobra.Command, args []string) error {
			if err := points.into(c.Context(), args, &call.options); err != nil {
				return err
			}
			return call.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	points.flags(c)
	c.Flags().StringVar(&call.key, "key", "", "what identifies a packet: content (without what routers change), published (the first 64 bytes), moonsniff, nines, or flow (id and ports) (default content; moonsniff for .mscap)")
	c.Flags().StringVar(&call.depth, "depth", "", "how many bytes of a frame the key content covers, or all (default 64)")
	c.Flags().Bool("mask-ttl", false, "")
	_ = c.Flags().MarkDeprecated("mask-ttl", "the key content never has the TTL") // fails only for an unknown flag
	c.Flags().Var(spanValue{&call.options.Trim}, "trim", "ignore packets that arrived within this time of the first (default: none)")
	c.Flags().Var(spanValue{&call.options.Offset}, "offset", "add this to POST's times if its clock is known to be behind (default: nothing)")
	c.Flags().BoolVar(&call.options.FollowClock, "follow-clock", false, "take off what the clocks move against each other, as the minimum latency shows it")
	c.Flags().Var(spanValue{&call.options.Window}, "window", "how late a packet may be before it counts as lost (default 5s)")
	c.Flags().BoolVar(&call.options.OneWay, "one-way", false, "all packets pass PRE first, also the answers of a host (default: answers that are early pass POST first)")
	c.Flags().StringVar(&call.out, "out", "", "write the published files and a result folder here")
	c.Flags().StringVar(&call.page, "page", "", "write the page of the pair to this file")
	c.Flags().StringVar(&call.without, "without", "", "files not to write, such as latency-ts (default: none)")
	command.FormatFlag(c, &call.format)
	return c
}

func (k analyzeCall) run(ctx context.Context, out, errOut io.Writer) (err error) {
	if k.key != "" {
		if k.options.Key, err = analyze.ParseKey(k.key); err != nil {
			return exit.With(exit.Wrong, err)
		}
	}
	if k.options.Depth, err = parseDepth(k.depth); err != nil {
		return err
	}
	without, err := analyze.ParseFiles(k.without)
	if err != nil {
		return exit.Wrongf("--without: %w", err)
	}
	show := newProgressLine(errOut)
	k.options.Progress = show.bytes
	a, err := analyze.Analyze(ctx, k.options)
	if err != nil {
		show.clear()
		return cancelled(ctx, err)
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	summary := a.Summary()
	if k.out != "" {
		show.at("writing", "")
		summary.Files, summary.Result, err = k.write(ctx, a, without)
	}
	if k.page != "" && err == nil {
		show.at("writing", "the page")
		err = k.writePage(ctx, a, summary.Result)
	}
	show.clear()
	if err != nil && len(summary.Files) > 0 && summary.Result == "" {
		return fmt.Errorf("the published files are written, but not the result folder: %w", err)
	}
	if err != nil {
		return cancelled(ctx, err)
	}
	for _, c := range []analyze.CaptureSummary{summary.Pre, summary.Post} {
		if c.Damage != "" {
			complain(errOut, "%s is damaged: %s", c.Path, c.Damage)
		}
	}
	return command.PrintAs(out, k.format, summary, writeAnalysis)
}

func parseDepth(text string) (int, error) {
	switch text {
	case "":
		return 0, nil
	case "all":
		return analyze.WholePacket, nil
	}
	bytes, err := strconv.Atoi(text)
	if err != nil || bytes <= 0 {
		return 0, exit.Wrongf("--depth %s: give a number of bytes, or all", text)
	}
	return bytes, nil
}

func cancelled(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return errors.New("interrupted; nothing was written")
	}
	return err
}

// write writes the published files and the result folder side by side.
func (k analyzeCall) write(ctx context.Context, a *analyze.Analysis, without map[analyze.File]bool) (files []string, folder string, err error) {
	var both sync.WaitGroup
	var filesErr, recordErr error
	var records []result.Record
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	both.Go(func() {
		if files, filesErr = a.WritePublished(ctx, k.out, without); filesErr != nil {
			cancel()
		}
	})
	both.Go(func() {
		if records, recordErr = a.Records(ctx); recordErr != nil {
			cancel()
		}
	})
	both.Wait()
	// It is unknown which failed first; the other was cancelled.
	for _, e := range []error{filesErr, recordErr} {
		if e != nil && (err == nil || errors.Is(err, context.Canceled)) {
			err = e
		}
	}
	if err != nil {
		return files, "", err
	}
	folder, err = k.writeResult(k.out, a, records)
	return files, folder, err
}

// writePage writes the page of the result folder, or of one that is made for it.
func (k analyzeCall) writePage(ctx context.Context, a *analyze.Analysis, folder string) (err error) {
	if folder != "" {
		return writeWhole(k.page, func(out io.Writer) error { return report.WritePage(folder, out) })
	}
	records, err := a.Records(ctx)
	if err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "nines-page-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	if folder, err = k.writeResult(temporary, a, records); err != nil {
		return err
	}
	return writeWhole(k.page, func(out io.Writer) error { return report.WritePage(folder, out) })
}

// writeResult writes a result folder into dir.
func (k analyzeCall) writeResult(dir string, a *analyze.Analysis, records []result.Record) (folder string, err error) {
	started, known := a.Started()
	if !known {
		started = time.Now()
	}
	w, err := result.Create(dir, filepath.Base(k.options.Pre), started)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil && w.Empty() {
			err = errors.Join(err, w.Discard())
		}
	}()
	for _, record := range records {
		if _, err := w.AddTrial(record); err != nil {
			return "", err
		}
	}
	r, err := result.Open(w.Dir())
	if err != nil {
		return "", err
	}
	if err := w.WriteReport(func(out io.Writer) error { return report.WritePageOf(r, out, report.PageOptions{}) }); err != nil {
		return "", err
	}
	return w.Dir(), w.Close()
}
