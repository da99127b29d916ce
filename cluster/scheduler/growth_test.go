package scheduler

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/nodefit"
	"nines.dev/nines/cluster/request"
)

// mostGrowth is how much more work four times the nodes may be: a sort has 4.8.
const mostGrowth = 5

// TestWorkGrowsAsTheNodesDo counts look-ups of figures and allocations, not time, for a cluster and for one of four
// times the nodes.
func TestWorkGrowsAsTheNodesDo(t *testing.T) {
	r, err := request.Parse("p99 < 100us")
	if err != nil {
		t.Fatal(err)
	}
	nodes := func(n int) []*corev1.Node {
		list := make([]*corev1.Node, n)
		for i := range list {
			list[i] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n" + strconv.Itoa(i)}}
		}
		return list
	}
	for name, work := range map[string]func(n int) float64{
		// A try of a pod: Filter asks of each node, Score takes what the store remembers.
		"a pod is tried": func(n int) float64 {
			figures, list, lookUps := newStore(), nodes(n), 0
			for i, node := range list {
				figures.set(node.Name, sound(int64(i%200)))
			}
			q := &nodefit.Question{Request: r, Now: time.Now(), Of: func(name string) []nodefit.Figure {
				lookUps++
				return figures.of(name)
			}}
			allocations := testing.AllocsPerRun(1, func() {
				for _, node := range list {
					q.Ask(nodefit.Node{Name: node.Name})
					figures.fastest(node, q.Now)
				}
			})
			return allocations + float64(lookUps)
		},
		// New figures of every node, while ten pods wait for faster ones.
		"figures arrive": func(n int) float64 {
			figures, waiters, list, lookUps := newStore(), newWaiting(), nodes(n), 0
			for i := range 10 {
				waiters.enter(podWith(strconv.Itoa(i), nil), &nodefit.Question{Request: r, Now: time.Now(), Of: func(name string) []nodefit.Figure {
					lookUps++
					return figures.of(name)
				}})
			}
			slow, fast := sound(900), sound(50)
			for _, node := range list {
				figures.set(node.Name, slow)
			}
			allocations := testing.AllocsPerRun(1, func() {
				for _, node := range list {
					before := figures.set(node.Name, fast)
					waiters.helped(nodefit.Node{Name: node.Name}, before, time.Now())
				}
			})
			return allocations + float64(lookUps)
		},
	} {
		once, fourfold := work(250), work(1000)
		if once < 250 || fourfold > mostGrowth*once {
			t.Errorf("%s: %.0f look-ups and allocations of 250 nodes, %.0f of 1,000", name, once, fourfold)
		}
	}
}
