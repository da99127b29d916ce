package scheduler

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"nines.dev/nines/cluster/client"
	"nines.dev/nines/cluster/nodefit"
	"nines.dev/nines/cluster/request"
	"nines.dev/nines/kernel/await"
)

// Name is the plugin's in a scheduler's configuration.
const Name = "NinesLatency"

// Plugin places pods by measured latency. It is safe for concurrent use, as the framework filters
// and scores nodes in several threads, and binds several pods at once.
type Plugin struct {
	handle   fwk.Handle
	figures  *store
	reserved *reservations
	waiting  *waiting
	held     held
	// now is the clock, which tests set.
	now func() time.Time
}

// The framework finds by its interfaces what a plugin does.
var (
	_ fwk.PreFilterPlugin   = (*Plugin)(nil)
	_ fwk.FilterPlugin      = (*Plugin)(nil)
	_ fwk.PostFilterPlugin  = (*Plugin)(nil)
	_ fwk.PreScorePlugin    = (*Plugin)(nil)
	_ fwk.ScorePlugin       = (*Plugin)(nil)
	_ fwk.ReservePlugin     = (*Plugin)(nil)
	_ fwk.PreBindPlugin     = (*Plugin)(nil)
	_ fwk.BindPlugin        = (*Plugin)(nil)
	_ fwk.EnqueueExtensions = (*Plugin)(nil)
	_ fwk.SignPlugin        = (*Plugin)(nil)
)

// New makes the plugin, for app.WithPlugin(Name, New). It takes no arguments. It waits until what
// is measured has been read, so that the first pods are not refused because it is missing.
func New(ctx context.Context, _ runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	from, err := client.New(handle.KubeConfig())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	if err := defined(ctx, from); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	plugin := newPlugin(handle)
	if err := plugin.forgetLeft(); err != nil {
		return nil, fmt.Errorf("%s: watch pods: %w", Name, err)
	}
	claims := handle.SharedInformerFactory().Resource().V1().ResourceClaims()
	plugin.held = held{inFlight: handle.SharedDRAManager().ResourceClaims(), claims: claims.Lister()}
	if _, err := claims.Informer().AddEventHandler(plugin.held.watched()); err != nil {
		return nil, fmt.Errorf("%s: watch claims: %w", Name, err)
	}
	synced, err := plugin.follow(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	if err := wait(ctx, synced); err != nil {
		return nil, fmt.Errorf("%s: read what is measured: %w", Name, err)
	}
	return plugin, nil
}

func newPlugin(handle fwk.Handle) *Plugin {
	return &Plugin{handle: handle, figures: newStore(), reserved: newReservations(), waiting: newWaiting(), now: time.Now}
}

// wait returns when the first list has arrived.
func wait(ctx context.Context, synced func() bool) error {
	return await.Until(ctx, await.Condition{
		What: "the first list has arrived", Every: 10 * time.Millisecond,
		Holds: func(context.Context) error { return await.Answer(synced(), nil) },
	})
}

// Name is the plugin's.
func (*Plugin) Name() string { return Name }

// question makes a latency request ready to be asked of nodes.
func (p *Plugin) question(r *request.Request, nodes []fwk.NodeInfo) *nodefit.Question {
	q := &nodefit.Question{Request: r, Of: p.figures.of, Now: p.now()}
	if r.To == nil {
		return q
	}
	for _, info := range nodes {
		if node := info.Node(); r.To.Matches(node.Name, node.Labels) {
			q.Peers = append(q.Peers, node.Name)
		}
	}
	return q
}

// verdict is a node's answer to a latency request. Nobody changes it.
type verdict struct {
	nodefit.Answer
	request string
	// class is the answer's.
	class string
}

// ask holds one node against the question.
func (p *Plugin) ask(q *nodefit.Question, pod *corev1.Pod, info fwk.NodeInfo) *verdict {
	node := info.Node()
	asked := nodefit.Node{Name: node.Name, Labels: node.Labels}
	if q.Request.ThesisUs > 0 && nodefit.Ports(node.Labels) > 0 {
		asked.PortsTaken = p.portsTaken(info, pod)
	}
	// Ports, labels and peers change apart from the node's figures.
	measured := p.figures.measuredAt(node, q.Now)
	if measured == nil || q.Request.ThesisUs > 0 || q.Request.To != nil {
		return verdictOf(q, asked)
	}
	known := measured.at(q.Now)
	if v := known.verdict(q.Request.Text); v != nil {
		return v
	}
	v := verdictOf(q, asked)
	measured.remember(known, v)
	return v
}

func verdictOf(q *nodefit.Question, asked nodefit.Node) *verdict {
	v := &verdict{Answer: q.Ask(asked), request: q.Request.Text}
	v.class = v.Class()
	return v
}
