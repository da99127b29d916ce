package netfilter

import (
	"fmt"
	"slices"
	"strings"
)

// Filter is what decides about packets in one place.
type Filter struct {
	// Where is its table and chain, as nft and iptables name them: "nft inet filter input", "iptables filter INPUT".
	Where string
	// Rules is how many rules it has; Drops is true where the policy drops what no rule accepts.
	Rules int
	Drops bool
}

// String says it as a part of a sentence.
func (f Filter) String() string {
	var words []string
	switch {
	case f.Rules == 1:
		words = append(words, "1 rule")
	case f.Rules > 1:
		words = append(words, fmt.Sprintf("%d rules", f.Rules))
	}
	if f.Drops {
		words = append(words, "the policy drop")
	}
	return f.Where + ": " + strings.Join(words, ", ")
}

// List are the filters that have rules, or drop packets by their policies, sorted.
func List() ([]Filter, error) {
	var all []Filter
	for _, list := range []func() ([]Filter, error){nft, iptables} {
		some, err := list()
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b Filter) int { return strings.Compare(a.Where, b.Where) })
	return all, nil
}
