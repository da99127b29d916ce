package request

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Example is a latency request that every message about a wrong one shows.
const Example = `"p99.99 < 100us, p50 < 20us"`

// mostBytes bounds an annotation that is read: a real one has a tenth of it.
const mostBytes = 2048

var (
	limitForm = regexp.MustCompile(`^p([0-9]{1,2}(?:\.[0-9]{1,8})?)\s*(<=|≤|<)\s*([0-9]+(?:\.[0-9]+)?)\s*(ns|us|µs|μs|ms|s)$`)
	elseForm  = regexp.MustCompile(`\s+else\s+`)
	tierForm  = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

// units are in the order in which duration tries them.
var units = []struct {
	name string
	ns   float64
}{{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}}

// Parse reads a latency request:
//
//	LIMIT[, LIMIT]… [else LIMIT…]… [else any] [; to: TARGET] [; tier: TIER[, TIER]…]
//
// A limit is "p99.99 < 100us". TARGET is a node's name or a selector of nodes' labels.
func Parse(text string) (*Request, error) {
	if len(text) > mostBytes {
		return nil, fmt.Errorf("%d bytes, at most %d are allowed", len(text), mostBytes)
	}
	r := &Request{Text: text}
	limits, rest, _ := strings.Cut(text, ";")
	if err := r.parseAlternatives(strings.TrimSpace(limits)); err != nil {
		return nil, err
	}
	if rest == "" {
		return r, nil
	}
	for _, option := range strings.Split(rest, ";") {
		if err := r.parseOption(option); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *Request) parseAlternatives(text string) error {
	for _, part := range elseForm.Split(text, -1) {
		if r.Any {
			return fmt.Errorf("%q: remove what follows \"else any\", which every node meets", text)
		}
		if part == "any" {
			if len(r.Alternatives) == 0 {
				return fmt.Errorf("\"any\" alone requests nothing; write a limit before it, such as %s else any, or leave the annotation out", Example)
			}
			r.Any = true
			continue
		}
		var alternative Alternative
		for _, one := range strings.Split(part, ",") {
			limit, err := parseLimit(strings.TrimSpace(one))
			if err != nil {
				return err
			}
			for _, other := range alternative {
				if other.P == limit.P {
					return fmt.Errorf("p%s has two limits, %s and %s; keep one", limit.P, other, limit)
				}
			}
			alternative = append(alternative, limit)
		}
		r.Alternatives = append(r.Alternatives, alternative)
	}
	return nil
}

func parseLimit(text string) (Limit, error) {
	found := limitForm.FindStringSubmatch(text)
	if found == nil {
		return Limit{}, fmt.Errorf("%q is not a limit; write a percentile, < or <=, and a time with ns, us, ms or s, such as %s", text, Example)
	}
	p, err := percentile(found[1])
	if err != nil {
		return Limit{}, err
	}
	value, err := strconv.ParseFloat(found[3], 64)
	if err != nil {
		return Limit{}, fmt.Errorf("%q: %w", text, err)
	}
	unit := strings.NewReplacer("µ", "u", "μ", "u").Replace(found[4])
	for _, known := range units {
		if known.name == unit {
			value *= known.ns
		}
	}
	// A minute is what the histograms end at (package result).
	if value < 1 || value > 60e9 {
		return Limit{}, fmt.Errorf("%q: the time must be from 1ns to 60s", text)
	}
	return Limit{P: p, Ns: int64(math.Round(value)), Inclusive: found[2] != "<"}, nil
}

// percentile writes one in the form that figures have: "99.90" and "099.9" are "99.9".
func percentile(text string) (string, error) {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || value <= 0 || value >= 100 {
		return "", fmt.Errorf("p%s: a percentile is above 0 and below 100, such as p99.99", text)
	}
	return strconv.FormatFloat(value, 'f', -1, 64), nil
}

func (r *Request) parseOption(text string) error {
	key, value, found := strings.Cut(text, ":")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	switch {
	case !found || key != "to" && key != "tier":
		return fmt.Errorf("%q: after a semicolon come \"to: NODE\" and \"tier: NAME\"", strings.TrimSpace(text))
	case value == "":
		return fmt.Errorf("%q has no value", key+":")
	case key == "to" && r.To != nil, key == "tier" && r.Tiers != nil:
		return fmt.Errorf("%q is listed twice", key+":")
	case key == "to":
		target, err := parseTarget(value)
		r.To = target
		return err
	}
	for _, tier := range strings.Split(value, ",") {
		tier = strings.TrimSpace(tier)
		if !tierForm.MatchString(tier) {
			return fmt.Errorf("tier: %q is not the name of a tier, such as sriov or ovs-dpdk", tier)
		}
		if !slices.Contains(r.Tiers, tier) {
			r.Tiers = append(r.Tiers, tier)
		}
	}
	return nil
}

// duration writes a limit so that it is read as the same number: in the largest unit of which it
// is a whole number.
func duration(ns int64) string {
	for _, unit := range units {
		if whole := int64(unit.ns); ns%whole == 0 {
			return strconv.FormatInt(ns/whole, 10) + unit.name
		}
	}
	return "" // the last unit is 1 ns
}
