package measure

import (
	"context"
	"slices"

	"nines.dev/nines/analysis/duet"
	"nines.dev/nines/analysis/undisturbed"
	"nines.dev/nines/engine/client"
	"nines.dev/nines/measure/traffic"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// lookout looks at a duet while it runs, to end it as soon as all that was asked is decided. What is told of the duet is
// decided once more at its end, when all is known, with looks at the same times.
type lookout struct {
	bench   *bench
	ctx     context.Context
	run     run
	outside *outside // nil: nothing watches from outside
	asked   *spec.Duet

	packets []sided
	// at are the times of the looks, in traffic; paused is how long it had paused before each.
	at, paused []int64
}

// lookAt has the next trial of a duet looked at; nil without a duet.
func (b *bench) lookAt(ctx context.Context, r run, begun []probe) *lookout {
	if r.spec.Duet == nil {
		return nil
	}
	l := &lookout{bench: b, ctx: ctx, run: r, asked: r.spec.Duet}
	for _, one := range begun {
		if found, is := one.(*outside); is {
			l.outside = found
		}
	}
	early := slices.DeleteFunc(optionsOf(l.asked).Looks(), func(at int64) bool { return at >= int64(l.asked.For) })
	b.generator.Look(&traffic.Looks{AtNs: early, Look: func(sent []client.Sent, trafficNs int64) bool {
		l.take(sent)
		return slices.Contains(early, trafficNs) && l.look(trafficNs)
	}})
	return l
}

// take keeps the packets since the look before.
func (l *lookout) take(sent []client.Sent) { l.packets = append(l.packets, sidedOf(sent, nil)...) }

// look reports whether all that can be decided is. It looks at all packets afresh, as one that came late changes what was
// seen before.
func (l *lookout) look(trafficNs int64) bool {
	l.at, l.paused = append(l.at, trafficNs), append(l.paused, l.bench.generator.PausedNs())
	heard, err := l.interrupted()
	if err != nil {
		return false // the look at the end has all
	}
	again := &looks{trial: duet.NewTrial(optionsOf(l.asked))}
	again.through(slices.Clone(l.packets), withoutPauses(interruptedCPUs(heard), l.pauses()), l.at)
	l.tell(again.last, unseenParts(heard))
	for _, a := range again.last.Answers {
		asked := slices.ContainsFunc(l.asked.Ask, func(text string) bool { return questionOf(text) == a.Question })
		never := a.Question.Undisturbed && unseenParts(heard) != ""
		if asked && !a.Confirmed && !never {
			return false
		}
	}
	return expectedOf(l.asked, again.last.Answers, unseenParts(heard) != "")
}

// tell tells the watcher what is decided so far of what was asked.
func (l *lookout) tell(seen duet.Look, unseen string) {
	d := duetOf(l.asked, l.run.plan.Duet)
	if d == nil {
		return
	}
	d.TrafficNs, d.Looks = seen.AtNs, len(l.at)
	d.Comparisons = slices.DeleteFunc(compared(seen, l.asked.Ask, unseen), func(c result.DuetComparison) bool { return !c.Asked })
	l.bench.watch.Looked(*d)
}

// pauses are those that have ended, each with when it began by the clock of the trial, and its length.
func (l *lookout) pauses() [][2]int64 {
	var list [][2]int64
	for i := 1; i < len(l.at); i++ {
		list = append(list, [2]int64{l.at[i-1] + l.paused[i-1], l.paused[i] - l.paused[i-1]})
	}
	return list
}

// interrupted is what all witnesses have told so far, as a record has it.
func (l *lookout) interrupted() (*result.Record, error) {
	lists, err := l.bench.generator.Interruptions()
	if err != nil {
		return nil, err
	}
	begin := l.bench.generator.TrafficBegan()
	o := observation{fromCPU: l.run.plan.Traffic.FromCPU, toCPU: l.run.plan.Traffic.ToCPU}
	o.outcome.Loop = len(lists) == 1
	o.outcome.Tx = client.TrialResult{MeasuredStartNs: begin, EndNs: begin + int64(l.run.stream.Lasts())*2, Interruptions: since(lists[0], begin)}
	o.outcome.Rx = o.outcome.Tx
	if len(lists) > 1 {
		o.outcome.Rx.Interruptions = since(lists[1], begin)
	}
	if o.witnessed, err = (witnessing{l.bench, l.run.plan, l.run.stream.Lasts()}).read(l.ctx); err != nil {
		return nil, err
	}
	if l.outside != nil {
		o.outside = l.outside.toldSoFar()
	}
	rec := &result.Record{}
	keepInterruptions(rec, o)
	return rec, nil
}

// since is the list of a trial's thread, from the begin of its traffic on.
func since(threads []client.Interrupted, begin int64) client.Interruptions {
	if len(threads) == 0 {
		return client.Interruptions{}
	}
	list := threads[0].Interruptions
	for i := range list.List {
		list.List[i].BeginNs += threads[0].BeginNs - begin
	}
	return list
}

// withoutPauses has the times of interruptions without the pauses of the traffic. Those in a pause met no packet.
func withoutPauses(cpus []undisturbed.CPU, pauses [][2]int64) []undisturbed.CPU {
	for i := range cpus {
		var kept []undisturbed.Interruption
		for _, one := range cpus[i].Interruptions {
			if one.BeginNs, one.EndNs = trafficTime(one.BeginNs, pauses), trafficTime(one.EndNs, pauses); one.EndNs > one.BeginNs {
				kept = append(kept, one)
			}
		}
		cpus[i].Interruptions = kept
	}
	return cpus
}

// trafficTime is a time of the trial without its pauses.
func trafficTime(ns int64, pauses [][2]int64) int64 {
	at := ns
	for _, p := range pauses {
		at -= min(max(ns-p[0], 0), p[1])
	}
	return at
}
