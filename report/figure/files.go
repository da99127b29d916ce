package figure

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"nines.dev/nines/exit"
	"nines.dev/nines/terminal"
)

// Published is a curve from a file in one of the published evaluation's formats, which 'nines
// analyze' also writes: percentiles, hist, worst, packetrate.
type Published struct {
	Label, Source string
	// Kind is the figure for the file.
	Kind   Kind
	points []Point
	values []int64 // of a histogram: lower edges in ns
	counts []float64
	binNs  int64
}

// Points are those of the figure's axes, by x; none of a histogram.
func (p Published) Points() []Point { return p.points }

// mostRows keeps a file that is not such a list from filling the memory.
const mostRows = 5_000_000

// fileForms are the formats by the first columns of their header.
var fileForms = []struct {
	columns []string
	kind    Kind
	add     func(p *Published, row []float64)
}{
	{[]string{"percentile", "value", "onefraconeminuspercentile"}, HDR, func(p *Published, row []float64) {
		if row[2] >= 1 {
			p.points = append(p.points, Point{row[2], max(row[1], 1) / 1000})
		}
	}},
	{[]string{"latency_bucket", "count"}, Histogram, func(p *Published, row []float64) {
		p.values, p.counts = append(p.values, int64(row[0])), append(p.counts, row[1])
	}},
	{[]string{"latency", "prets", "postts"}, Worst, func(p *Published, row []float64) {
		p.points = append(p.points, Point{row[1] / 1e9, max(row[0], 1) / 1000})
	}},
	{[]string{"ts", "count"}, Rate, func(p *Published, row []float64) {
		p.points = append(p.points, Point{row[0] / 1e9, row[1]})
	}},
}

// ReadPublished reads a CSV file, also as .gz or .zst. The default label is its format, and the
// default source the file.
func ReadPublished(path, label, source string) (Published, error) {
	p, err := readPublished(path)
	if err != nil {
		return Published{}, err
	}
	if p.Label = label; label == "" {
		p.Label = "published"
	}
	if p.Source = source; source == "" {
		p.Source = filepath.Base(path)
	}
	return p, nil
}

func readPublished(path string) (Published, error) {
	file, err := os.Open(path)
	if err != nil {
		reason := err
		if e := new(os.PathError); errors.As(err, &e) {
			reason = e.Err
		}
		return Published{}, exit.Wrongf("%s: %w", path, reason)
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return Published{}, exit.Wrongf("%s: is a folder; name one of its CSV files", path)
	}
	var in io.Reader = bufio.NewReader(file)
	switch filepath.Ext(path) {
	case ".gz":
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return Published{}, exit.Wrongf("%s is not a gzip file", path)
		}
		in = unpacked
	case ".zst":
		unpacked, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return Published{}, exit.Wrongf("%s: %w", path, err)
		}
		defer unpacked.Close()
		in = unpacked
	}
	return parsePublished(in, path)
}

func parsePublished(in io.Reader, path string) (Published, error) {
	rows := csv.NewReader(in)
	heading, err := rows.Read()
	if err != nil {
		return Published{}, exit.Wrongf("%s: has no header row: it is empty, damaged or not a CSV file", path)
	}
	rows.ReuseRecord = true
	var p Published
	columns := 0
	var add func(*Published, []float64)
	for _, form := range fileForms {
		if len(heading) >= len(form.columns) && slices.Equal(heading[:len(form.columns)], form.columns) {
			p.Kind, columns, add = form.kind, len(form.columns), form.add
			break
		}
	}
	if add == nil {
		var forms []string
		for _, form := range fileForms {
			forms = append(forms, strings.Join(form.columns, ","))
		}
		return Published{}, exit.Wrongf("%s:1: the columns %.60q match no figure; they must start with one of: %s",
			path, strings.Join(heading, ","), strings.Join(forms, " | "))
	}
	values := make([]float64, columns)
	for count := 1; ; count++ {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if torn := new(csv.ParseError); errors.As(err, &torn) {
			return Published{}, exit.Wrongf("%s:%d: is damaged: %w", path, torn.Line, torn.Err)
		}
		if err != nil {
			return Published{}, exit.Wrongf("%s: is damaged: %w", path, err)
		}
		line, _ := rows.FieldPos(0)
		if count > mostRows {
			return Published{}, exit.Wrongf("%s:%d: has more than %d rows, which no figure can show", path, line, mostRows)
		}
		for i := range values {
			v, err := strconv.ParseFloat(row[i], 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 || v > 9e18 {
				return Published{}, exit.Wrongf("%s:%d: %.40q in the column %s is not a number from 0", path, line, row[i], terminal.Plain(heading[i]))
			}
			values[i] = v
		}
		add(&p, values)
	}
	if len(p.points)+len(p.values) == 0 {
		return Published{}, exit.Wrongf("%s: has no rows", path)
	}
	p.tidy()
	return p, nil
}

// tidy sorts points, moves the start of times near 0, and finds the bin width.
func (p *Published) tidy() {
	byX := func(a, b Point) int { return cmp.Compare(a.X, b.X) }
	switch p.Kind {
	case HDR:
		slices.SortStableFunc(p.points, byX)
		// Percentiles with too few packets all have the maximum.
		for last := len(p.points) - 1; last > 0 && p.points[last-1].Y == p.points[last].Y; last-- {
			p.points = p.points[:last]
		}
	case Worst, Rate:
		slices.SortStableFunc(p.points, byX)
		// Absolute times: count from the first packet.
		if first := p.points[0].X; first > 1e6 || p.Kind == Rate {
			for i := range p.points {
				p.points[i].X -= first
			}
		}
		if p.Kind == Rate { // a row counts the second that starts at its time
			last := p.points[len(p.points)-1]
			p.points = append(p.points, Point{last.X + 1, last.Y})
		}
	case Histogram:
		for i := 1; i < len(p.values); i++ {
			p.binNs = gcd(p.binNs, p.values[i]-p.values[i-1])
		}
		if p.binNs == 0 {
			p.binNs = 1
		}
	}
}

func gcd(a, b int64) int64 {
	if b < 0 {
		b = -b
	}
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
