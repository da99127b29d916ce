package measure

import (
	"cmp"
	"slices"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/result"
)

// keepInterruptions adds what the witnesses of a trial have told.
func keepInterruptions(rec *result.Record, o observation) {
	tx, rx := o.outcome.Tx, o.outcome.Rx
	threads := []interrupted{{"loop", o.witnessed.from, o.fromCPU, tx.MeasuredStartNs, tx.Interruptions}}
	if !o.outcome.Loop {
		// Both count from their measured start, which is the same moment by two clocks.
		threads = []interrupted{
			{"generate", o.witnessed.from, o.fromCPU, tx.MeasuredStartNs, tx.Interruptions},
			{"sink", o.witnessed.to, o.toCPU, tx.MeasuredStartNs, rx.Interruptions},
		}
	}
	all := result.Interruptions{Unseen: append(o.outside.unseen, o.witnessed.unseen...)}
	end := max(tx.EndNs-tx.MeasuredStartNs, rx.EndNs-rx.MeasuredStartNs)
	for _, t := range slices.Concat(threads, o.witnessed.threads) {
		rows := t.rows(tx.MeasuredStartNs, end)
		rec.Interruptions = append(rec.Interruptions, rows...)
		all.Witnesses = append(all.Witnesses, t.witness(rows))
		rec.Details.Turns = append(rec.Details.Turns, t.turns()...)
	}
	rows := o.outside.during(tx.MeasuredStartNs, end)
	for _, w := range o.outside.witnesses {
		for _, row := range rows {
			if row.Thread == w.Thread {
				w.Count, w.TotalNs = w.Count+1, w.TotalNs+row.LengthNs
			}
		}
		all.Witnesses = append(all.Witnesses, w)
	}
	rec.Interruptions = append(rec.Interruptions, rows...)
	slices.SortStableFunc(rec.Interruptions, func(a, b result.Interruption) int { return cmp.Compare(a.BeginNs, b.BeginNs) })
	rec.Trial.Interruptions = &all
}

// during are the rows that met the trial, from when its first measured packet was due until its end.
func (o witnessedOutside) during(measuredStartNs, endNs int64) []result.Interruption {
	var rows []result.Interruption
	for _, row := range o.rows {
		row.BeginNs -= measuredStartNs
		if row.BeginNs+row.LengthNs > 0 && row.BeginNs < endNs {
			rows = append(rows, row)
		}
	}
	return rows
}

// rows are the interruptions that met the trial, as in during.
func (t interrupted) rows(measuredStartNs, endNs int64) []result.Interruption {
	names := map[int]string{}
	for _, kind := range t.of.Kinds {
		names[kind.Kind] = kind.Name
	}
	var rows []result.Interruption
	for _, i := range t.of.List {
		begin := t.fromNs + i.BeginNs - measuredStartNs
		if begin+i.LengthNs > 0 && begin < endNs {
			rows = append(rows, result.Interruption{Thread: t.thread, Node: t.node, CPU: int32(t.cpu), Kind: names[i.Kind], BeginNs: begin, LengthNs: i.LengthNs})
		}
	}
	return rows
}

func (t interrupted) witness(rows []result.Interruption) result.Witness {
	w := result.Witness{Thread: t.thread, Node: t.node, CPU: t.cpu, By: result.ByLoop, Count: uint64(len(rows)), ThresholdNs: threshold(t.of.Kinds), Overflow: t.of.Overflow}
	for _, row := range rows {
		w.TotalNs += row.LengthNs
	}
	for _, kind := range t.of.Kinds {
		w.UnlistedNs += kind.UnlistedNs
	}
	return w
}

// thresholdShare is the share of a loop's time in which it can tell what is longer than its witness's threshold. The
// largest turns, which may last longer, are those that make up for an interruption before them.
const thresholdShare = 0.95

// threshold is the longest of the kinds of turns that take nearly all of the loop's time.
func threshold(kinds []client.TurnKind) (ns int64) {
	known := slices.DeleteFunc(slices.Clone(kinds), func(k client.TurnKind) bool { return k.ThresholdNs == nil })
	slices.SortFunc(known, func(a, b client.TurnKind) int { return cmp.Compare(*a.ThresholdNs, *b.ThresholdNs) })
	var spent, below int64
	for _, kind := range known {
		spent += kind.SpentNs
	}
	for _, kind := range known {
		if float64(below) >= thresholdShare*float64(spent) {
			break
		}
		below, ns = below+kind.SpentNs, *kind.ThresholdNs
	}
	return ns
}

func (t interrupted) turns() (list []result.Turns) {
	for _, kind := range t.of.Kinds {
		list = append(list, result.Turns{
			Thread: t.thread, Kind: kind.Name, UsualNs: kind.UsualNs, ThresholdNs: kind.ThresholdNs,
			SpentNs: kind.SpentNs, Unlisted: kind.Unlisted, UnlistedNs: kind.UnlistedNs,
			UnlistedLengths: unlistedLengths(kind),
		})
	}
	return list
}

func unlistedLengths(kind client.TurnKind) (list []result.UnlistedLength) {
	for _, l := range kind.UnlistedLengths {
		list = append(list, result.UnlistedLength(l))
	}
	return list
}
