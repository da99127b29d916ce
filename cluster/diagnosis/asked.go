package diagnosis

import (
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"nines.dev/nines/cluster/agent/tend"
	"nines.dev/nines/cluster/nodefit"
	"nines.dev/nines/terminal"
)

// Asked is what a pod asks of its node by an annotation, and what the node's agent says of it.
type Asked struct {
	Annotation string `json:"annotation"`
	Value      string `json:"value"`
	// Given is true for what the pod has; Says is the agent's last word of it, and empty before the first.
	Given bool   `json:"given"`
	Says  string `json:"says,omitempty"`
	// AgeSeconds is how long ago that was.
	AgeSeconds int64 `json:"ageSeconds,omitempty"`
}

// asked are the annotations of the pod that its node's agent acts upon.
func (c Cluster) asked() []Asked {
	var all []Asked
	for _, topic := range tend.Topics() {
		value := c.Pod.Annotations[topic.Key]
		if value == "" {
			continue
		}
		a := Asked{Annotation: topic.Key, Value: value}
		var last *corev1.Event
		for i := range c.Events {
			e := &c.Events[i]
			ours := e.InvolvedObject.UID == c.Pod.UID && slices.Contains([]string{topic.Given, topic.Refused, topic.Ended}, e.Reason)
			if ours && (last == nil || later(e, last)) {
				last = e
			}
		}
		if last != nil {
			a.Given, a.Says = last.Reason == topic.Given, last.Message
			a.AgeSeconds = int64(c.Now.Sub(last.LastTimestamp.Time).Seconds())
		}
		all = append(all, a)
	}
	return all
}

// later reports whether an event is newer than another. Their times are whole seconds: of two in one second the
// API server tells which is newer.
func later(e, than *corev1.Event) bool {
	if !e.LastTimestamp.Equal(&than.LastTimestamp) {
		return e.LastTimestamp.After(than.LastTimestamp.Time)
	}
	order, err := resourceversion.CompareResourceVersion(e.ResourceVersion, than.ResourceVersion)
	return err == nil && order > 0
}

func (a Asked) write(out io.Writer, node string) {
	fmt.Fprintf(out, "\n%s: %s\n", a.Annotation, terminal.Plain(a.Value))
	switch {
	case a.Says != "":
		word := "not given"
		if a.Given {
			word = "given"
		}
		fmt.Fprintf(out, "  %s: %s (said %s)\n", word, terminal.PlainLines(a.Says), nodefit.Age(secondsOf(a.AgeSeconds)))
	case node == "":
		fmt.Fprintln(out, "  the pod has no node yet")
	default:
		fmt.Fprintf(out, "  the agent of node %s has not reported it in the last hour: check that it runs (kubectl --namespace nines get pods)?\n", node)
	}
}
