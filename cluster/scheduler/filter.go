package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"nines.dev/nines/cluster/nodefit"
	"nines.dev/nines/cluster/request"
)

// stateKey is where a cycle keeps its question.
const stateKey = fwk.StateKey(Name)

// cycle is what one try to place a pod knows. Nothing changes it after PreFilter.
type cycle struct {
	question *nodefit.Question
	// eachNode tells that the cluster is small enough for a sentence about each node.
	eachNode bool
}

// Clone returns itself, as nothing changes it.
func (c *cycle) Clone() fwk.StateData { return c }

func cycleOf(state fwk.CycleState) (*cycle, error) {
	data, err := state.Read(stateKey)
	if err != nil {
		return nil, err
	}
	found, ok := data.(*cycle)
	if !ok {
		return nil, fmt.Errorf("%s: the cycle has a %T", Name, data)
	}
	return found, nil
}

// mostSentences is how many nodes an event has room to speak of: an event has 1024 bytes
// (k8s.io/api/events/v1, Event.note).
const mostSentences = 8

// PreFilter reads the request. A pod without one needs no filter.
func (p *Plugin) PreFilter(_ context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	r, err := request.Of(pod.Annotations)
	if err == nil {
		err = request.Unknown(pod.Annotations)
	}
	if err != nil {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, err.Error())
	}
	if r == nil {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	question := p.question(r, nodes)
	p.waiting.enter(pod, question) // before any figure is read
	state.Write(stateKey, &cycle{question: question, eachNode: len(nodes) <= mostSentences})
	return nil, nil
}

// PreFilterExtensions has none: what other pods do changes only ports, which Filter counts each time.
func (*Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter refuses a node that does not hold the request, and says why.
func (p *Plugin) Filter(_ context.Context, state fwk.CycleState, pod *corev1.Pod, info fwk.NodeInfo) *fwk.Status {
	c, err := cycleOf(state)
	if err != nil {
		return fwk.AsStatus(err)
	}
	answer := p.ask(c.question, pod, info)
	if answer.Suits() {
		return nil
	}
	reason := answer.class
	if c.eachNode {
		reason = answer.Sentence(c.question.Request, c.question.Now)
	}
	if answer.Miss == nodefit.NoPort {
		return fwk.NewStatus(fwk.Unschedulable, reason) // another pod's end can help
	}
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason)
}

// nearest is how many nodes PostFilter speaks of.
const nearest = 3

// PostFilter places nothing. In a cluster too large for a sentence about each node it names those
// that came nearest.
func (p *Plugin) PostFilter(_ context.Context, state fwk.CycleState, pod *corev1.Pod, statuses fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	c, err := cycleOf(state)
	if err != nil || c.eachNode {
		return nil, fwk.NewStatus(fwk.Unschedulable) // no latency request, or all is said
	}
	infos, err := p.handle.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	var missed []nodefit.Answer
	for _, info := range infos {
		// Only of nodes that this plugin refused: the others had room in their latency.
		if statuses.Get(info.Node().Name).Plugin() != Name {
			continue
		}
		if answer := p.ask(c.question, pod, info); !answer.Suits() {
			missed = append(missed, answer.Answer)
		}
	}
	nodefit.SortByNearest(missed)
	var sentences []string
	for i := range missed[:min(nearest, len(missed))] {
		sentences = append(sentences, missed[i].Sentence(c.question.Request, c.question.Now))
	}
	if len(sentences) == 0 {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	return nil, fwk.NewStatus(fwk.Unschedulable, "closest to the requested latency: "+strings.Join(slices.Compact(sentences), "; "))
}
