package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/nodefit"
	"nines.dev/nines/cluster/request"
	"nines.dev/nines/cluster/scheduler"
)

// Cluster is what an explanation looks at, all of the same moment or nearly so.
type Cluster struct {
	Pod       *corev1.Pod
	Nodes     []corev1.Node
	Pods      []corev1.Pod
	Latencies []v1alpha1.NodeLatency
	Devices   Devices
	// Events are the pod's.
	Events []corev1.Event
	Now    time.Time
}

// Report is the explanation.
type Report struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	// Request is the pod's latency request as nines reads it; empty without one. Wrong is why it cannot be read.
	Request string `json:"request,omitempty"`
	Wrong   string `json:"wrong,omitempty"`
	// Node is where the pod is, with what was promised then.
	Node    string             `json:"node,omitempty"`
	Promise *scheduler.Promise `json:"promise,omitempty"`
	// Scheduler is what the scheduler said last of a pod that waits.
	Scheduler string `json:"scheduler,omitempty"`
	// Claims are the pod's, of ports and other devices.
	Claims []Claim `json:"claims,omitempty"`
	// Asked is what it asks of its node beside, by annotations.
	Asked []Asked `json:"asked,omitempty"`
	Nodes []Row   `json:"nodes"`
}

// Row is one node.
type Row struct {
	Node string `json:"node"`
	// Suits tells that the request holds, or the pod allows any node; and nothing in Obstacles.
	Suits bool `json:"suits"`
	// Holds tells that the node suits because the request holds, and not because the pod allows any.
	Holds bool `json:"holds"`
	// Tier is the one that the pod would use, or that came nearest.
	Tier string `json:"tier,omitempty"`
	Peer string `json:"peer,omitempty"`
	// Percentile, ValueNs and BoundNs are of the limit with the least room.
	Percentile string `json:"percentile,omitempty"`
	ValueNs    int64  `json:"valueNs,omitempty"`
	BoundNs    int64  `json:"boundNs,omitempty"`
	Limit      string `json:"limit,omitempty"`
	// AgeSeconds is how old the figure is.
	AgeSeconds int64 `json:"ageSeconds,omitempty"`
	// Latency says in words how the request stands; Obstacles what else is in the way.
	Latency   string   `json:"latency"`
	Obstacles []string `json:"obstacles,omitempty"`

	miss nodefit.Miss
	room float64
}

// Of explains. Nodes that suit come first, then those that came nearest.
func Of(c Cluster) Report {
	r := Report{Namespace: c.Pod.Namespace, Pod: c.Pod.Name, Node: c.Pod.Spec.NodeName, Nodes: []Row{}}
	r.Promise, _ = scheduler.ReadPromise(c.Pod) // one that cannot be read promises nothing
	for _, condition := range c.Pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			r.Scheduler = condition.Message
		}
	}
	r.Claims, r.Asked = c.claims(), c.asked()
	wanted, err := request.Of(c.Pod.Annotations)
	if err == nil {
		err = request.Unknown(c.Pod.Annotations)
	}
	if err != nil {
		r.Wrong = err.Error()
		return r
	}
	if wanted == nil {
		return r
	}
	r.Request = wanted.String()
	question := c.question(wanted)
	for i := range c.Nodes {
		r.Nodes = append(r.Nodes, c.row(question, &c.Nodes[i]))
	}
	slices.SortStableFunc(r.Nodes, func(a, b Row) int {
		return cmp.Or(-compare(a.Suits, b.Suits), cmp.Compare(a.miss, b.miss), cmp.Compare(a.room, b.room), cmp.Compare(a.Node, b.Node))
	})
	return r
}

// compare has false before true.
func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func (c Cluster) question(wanted *request.Request) *nodefit.Question {
	figures := map[string][]nodefit.Figure{}
	for _, of := range c.Latencies {
		figures[of.Name] = nodefit.Read(of.Figures)
	}
	q := &nodefit.Question{Request: wanted, Now: c.Now, Of: func(node string) []nodefit.Figure { return figures[node] }}
	if wanted.To != nil {
		for _, node := range c.Nodes {
			if wanted.To.Matches(node.Name, node.Labels) {
				q.Peers = append(q.Peers, node.Name)
			}
		}
	}
	return q
}

func (c Cluster) row(q *nodefit.Question, node *corev1.Node) Row {
	var on []*corev1.Pod
	for i := range c.Pods {
		if pod := &c.Pods[i]; pod.Spec.NodeName == node.Name && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			on = append(on, pod)
		}
	}
	unreserved := func(id) (string, bool) { return "", false }
	answer := q.Ask(nodefit.Node{Name: node.Name, Labels: node.Labels, PortsTaken: scheduler.PortsTaken(node, on, c.Pod.UID, unreserved)})
	e := answer.Evidence
	row := Row{
		Node: node.Name, Tier: cmp.Or(e.Tier, answer.Tier), Peer: e.Peer, Percentile: e.P, ValueNs: e.ValueNs,
		Latency: answer.Reason(q.Request, q.Now), miss: answer.Miss, room: e.Room(),
	}
	if e.P != "" {
		row.BoundNs, row.Limit = e.BoundNs, e.Limit.String()
		row.AgeSeconds = int64(q.Now.Sub(e.MeasuredAt).Seconds())
	}
	if !answer.Met && answer.Fallback {
		row.Latency += fmt.Sprintf("; the pod allows any node (%q)", "else any")
	}
	row.Obstacles = obstacles(c.Pod, node, on)
	row.Suits = answer.Suits() && len(row.Obstacles) == 0
	row.Holds = row.Suits && answer.Met
	return row
}
