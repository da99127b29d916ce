package isolate

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/hugepages"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// CheckHugepages checks that the host has the hugepages that a plan takes, or could reserve them,
// as far as that is known without trying.
func CheckHugepages(p *plan.Plan) error {
	if p.Hugepages == nil || p.Hugepages.Mode == spec.HugepagesNone || len(p.Hugepages.Demands) == 0 {
		return nil
	}
	inventory, err := host.Read()
	if err != nil {
		return err
	}
	return host.Missing(p.Lacking(inventory))
}

// KindHugepages is a claim on the hugepages of a pool, Path, in the ledger Target; Token
// names it, and Value is the number of pages.
var KindHugepages = journal.Register("hugepages", journal.Undo{Step: func(_ context.Context, u journal.Undoing) error {
	return hugepages.Ledger{Path: u.Target}.Release(hugepages.Pool(u.Path), u.Token)
}})

// ReserveHugepages reserves the missing hugepages for a plan with mode reserve, with a journal step
// per memory node; ledger is the file that all labs of the host share. If the kernel finds too few,
// none are kept.
func ReserveHugepages(j *journal.Journal, p *plan.Plan, ledger string) error {
	if p.Hugepages == nil || p.Hugepages.Mode != spec.HugepagesReserve {
		return nil
	}
	demands := map[int]int{}
	for _, d := range p.Hugepages.Demands {
		demands[d.MemoryNode] += d.Pages
	}
	var numaNodes []int
	for numaNode := range demands {
		numaNodes = append(numaNodes, numaNode)
	}
	sort.Ints(numaNodes)
	for _, numaNode := range numaNodes {
		pool := hugepages.Of(numaNode, p.Hugepages.PageBytes)
		step := journal.Step{
			Kind: KindHugepages, Path: string(pool), Target: ledger,
			Value: strconv.Itoa(demands[numaNode]), Token: j.Token(fmt.Sprintf("hugepages/%d", numaNode)),
		}
		err := j.Make(step, func() (journal.Learnt, error) {
			return journal.Learnt{}, hugepages.Ledger{Path: ledger}.Claim(pool, step.Token, j.Path(), demands[numaNode])
		})
		if err != nil {
			return explainShort(p, numaNode, err)
		}
	}
	return nil
}

// explainShort turns the error of fragmented memory into an error that the host lacks hugepages.
func explainShort(p *plan.Plan, numaNode int, err error) error {
	h := p.Hugepages
	var short *hugepages.ShortError
	if !errors.As(err, &short) {
		return fmt.Errorf("reserve hugepages: %w", err)
	}
	var who []string
	for _, d := range h.Demands {
		if d.MemoryNode == numaNode {
			who = append(who, fmt.Sprintf("%s %d", d.Who, d.Pages))
		}
	}
	return &exit.MissingError{
		Capability: host.FeatureHugepages,
		Reason: fmt.Sprintf("on NUMA node %d (%s), of %d KiB each; the pages that were found are released",
			numaNode, strings.Join(who, ", "), h.PageBytes>>10),
		Err:    short,
		Remedy: "reserve them at boot (hugepages=N), or " + p.DoWithLess(),
	}
}
