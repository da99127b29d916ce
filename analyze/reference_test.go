package analyze

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/analyze/packetfile"
)

// The published evaluation written from its description, with maps and sorting: slow, but too
// simple to have the same bugs.

type referencePacket struct {
	ts  int64
	key string
}

func referenceKey(frame []byte) string {
	k := slices.Clone(frame[:min(64, len(frame))])
	zero := func(from int) {
		for i := from; i < from+2 && i < len(k); i++ {
			k[i] = 0
		}
	}
	if len(k) > 14 && k[14] == 0x45 {
		zero(24)
		if len(k) > 23 && k[23] == 17 {
			zero(40)
		}
		if len(k) > 23 && k[23] == 6 {
			zero(50)
		}
	}
	if len(k) < 12 {
		return ""
	}
	return string(k[12:])
}

func referenceRead(t *testing.T, path string) []referencePacket {
	t.Helper()
	r, err := packetfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var packets []referencePacket
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return packets
		}
		if err != nil {
			t.Fatal(err)
		}
		packets = append(packets, referencePacket{p.TimeNs, referenceKey(p.Data)})
	}
}

// reference returns the files' contents by name suffix.
func reference(t *testing.T, prePath, postPath string, trimMs int64) map[string]string {
	t.Helper()
	pre, post := referenceRead(t, prePath), referenceRead(t, postPath)
	byTime := func(a, b referencePacket) int { return cmp.Compare(a.ts, b.ts) }
	slices.SortStableFunc(pre, byTime)
	slices.SortStableFunc(post, byTime)
	seen := make(map[string]int)
	sentAt := make(map[string]int64)
	for _, p := range pre {
		seen[p.key]++
		sentAt[p.key] = p.ts
	}
	from := post[0].ts + trimMs*1e6
	type row struct {
		latency, pre, post int64
		key                string
	}
	var rows []row
	for _, p := range post {
		sent := sentAt[p.key]
		if seen[p.key] == 1 && p.ts > sent && p.ts < sent+5e9 && p.ts >= from {
			rows = append(rows, row{p.ts - sent, sent, p.ts, p.key})
		}
	}
	files := make(map[string]string)
	trim := fmt.Sprintf("trim_ms%d", trimMs)

	counts := func(head string, values []int64) string {
		m := make(map[int64]int)
		for _, v := range values {
			m[v/100*100]++
		}
		var out bytes.Buffer
		out.WriteString(head)
		for _, b := range slices.Sorted(func(yield func(int64) bool) {
			for b := range m {
				if !yield(b) {
					return
				}
			}
		}) {
			fmt.Fprintf(&out, "%d,%d\n", b, m[b])
		}
		return out.String()
	}
	var latencies []int64
	for _, r := range rows {
		latencies = append(latencies, r.latency)
	}
	files["bucket_size100."+trim+".hist"] = counts("latency_bucket,count\n", latencies)
	for name, packets := range map[string][]referencePacket{"pre": pre, "post": post} {
		var kept []referencePacket
		for _, p := range packets {
			if p.ts >= packets[0].ts+trimMs*1e6 {
				kept = append(kept, p)
			}
		}
		var gaps []int64
		seconds := make(map[int64]int)
		for i, p := range kept {
			if i > 0 {
				gaps = append(gaps, p.ts-kept[i-1].ts)
			}
			seconds[(p.ts-kept[0].ts)/1e9]++
		}
		files["bucket_size100."+trim+".jitter"+name] = counts("bucket,count\n", gaps)
		out := "ts,count\n"
		for s := int64(0); len(kept) > 0 && s <= (kept[len(kept)-1].ts-kept[0].ts)/1e9; s++ {
			if seconds[s] > 0 {
				out += fmt.Sprintf("%d,%d\n", s*1e9+kept[0].ts, seconds[s])
			}
		}
		files[trim+".packetrate"+name] = out
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.pre, b.pre), cmp.Compare(a.post, b.post))
	})
	var out strings.Builder
	out.WriteString("latency,prets,postts\n")
	for _, r := range rows {
		fmt.Fprintf(&out, "%d,%d,%d\n", r.latency, r.pre, r.post)
	}
	files[trim+".latency-ts"] = out.String()
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.latency, a.latency), cmp.Compare(a.pre, b.pre), cmp.Compare(a.post, b.post))
	})
	out.Reset()
	out.WriteString("latency,prets,postts,encode\n")
	for _, r := range rows[:min(5000, len(rows))] {
		fmt.Fprintf(&out, "%d,%d,%d,%s\n", r.latency, r.pre, r.post, hex.EncodeToString([]byte(r.key)))
	}
	files[trim+".num_worst5000.worst"] = out.String()
	slices.Sort(latencies)
	out.Reset()
	out.WriteString("percentile,value,onefraconeminuspercentile\n")
	for _, text := range percentileList {
		if len(latencies) == 0 {
			break
		}
		p, _ := new(big.Float).SetString(text)
		f, _ := p.Float64()
		rank := max(1, int(math.Ceil(f*float64(len(latencies)))))
		fmt.Fprintf(&out, "%s,%d,\n", text, latencies[rank-1])
	}
	files[trim+".percentiles"] = out.String()
	return files
}
