package tend

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/spec"
)

func TestWhatAPodGetsOfWhatItAsks(t *testing.T) {
	pair, shared := Interface{"net1", spec.LinkBridge, true}, Interface{"net2", spec.LinkMacvlan, false}
	own := tasks.Set{2, 3}
	for _, test := range []struct {
		isolation, rx string
		own           tasks.Set
		interfaces    []Interface
		// What it gets, or words of why it does not; and words of what is left.
		isolated, receives, interfacesOf string
		refused                          []string
		left                             string
	}{
		{},
		{isolation: "none", rx: "interrupt"},
		{isolation: "affinity", own: own},
		{isolation: "isolated", own: own, isolated: "isolated"},
		{isolation: "partition", own: own, isolated: "partition"},
		{isolation: "isolated", refused: []string{"cpuManagerPolicy: static", "whole CPUs"}},
		{isolation: "cpu", own: own, refused: []string{`"cpu" is unknown`, "partition or isolated"}},
		{rx: "busy_poll", own: own, interfaces: []Interface{pair}, receives: "busy_poll", interfacesOf: "net1"},
		{rx: "busy_poll", own: own, interfaces: []Interface{pair, shared}, receives: "busy_poll", interfacesOf: "net1", left: "net2 (macvlan)"},
		{rx: "busy_poll", own: own, interfaces: []Interface{shared}, refused: []string{"net2 (macvlan)", "the tier bridge, ovn or sriov"}},
		{rx: "busy_poll", interfaces: []Interface{pair}, refused: []string{"its threads need exclusive CPUs of the pod", "cpuManagerPolicy: static"}},
		{rx: "threaded", interfaces: []Interface{pair}, receives: "threaded", interfacesOf: "net1"},
		{rx: "suspend", interfaces: []Interface{pair}, receives: "suspend", interfacesOf: "net1"},
		{rx: "awake", own: own, interfaces: []Interface{shared}, receives: "awake"},
		{rx: "awake", interfaces: []Interface{pair}, refused: []string{"need exclusive CPUs of the pod"}},
		{rx: "threaded", own: own, refused: []string{"no interface that is a port of nines"}},
		{rx: "fast", own: own, interfaces: []Interface{pair}, refused: []string{"nines.dev/rx fast: unknown; allowed: interrupt"}},
	} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{IsolationKey: test.isolation, ReceiveKey: test.rx}}}
		d := Decide(Found{Pod: pod, Own: test.own, Interfaces: test.interfaces})
		refused := d.IsolationRefused + d.ReceiveRefused
		if string(d.Isolation) != test.isolated || string(d.Receive) != test.receives || strings.Join(d.Interfaces, " ") != test.interfacesOf {
			t.Errorf("%s %s: %+v", test.isolation, test.rx, d)
		}
		if (refused != "") != (len(test.refused) > 0) || (d.Left != "") != (test.left != "") || !strings.Contains(d.Left, test.left) {
			t.Errorf("%s %s: refused: %q, left: %q", test.isolation, test.rx, refused, d.Left)
		}
		for _, words := range test.refused {
			if !strings.Contains(refused, words) {
				t.Errorf("%s %s: %q is not in %q", test.isolation, test.rx, words, refused)
			}
		}
	}
}
