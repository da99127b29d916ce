package scheduler_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/test/labtest"
)

// thesis runs what the thesis's listing did wrong (its appendix A), in a real cluster.
func (p plane) thesis(t *testing.T) {
	p.Node(t, "port", map[string]string{"dpdk": "9", "ovs-dpdk": "false", "another": "label"})
	p.Node(t, "ovs", map[string]string{"dpdk": "0", "ovs-dpdk": "true"})
	p.Node(t, "plain", nil)
	p.seen(t)
	// Its strict comparisons refused its own numbers; `&node` of the loop made every entry the last
	// node; and the random choice among nodes took the length of another list.
	for us, node := range map[string]string{"800": "port", "4999": "port", "5000": "ovs", "9999": "ovs", "10000": "plain", "50000": "plain"} {
		p.Pod(t, "latency-"+us, thesis(us))
		if pod := p.Bound(t, "latency-"+us); pod.Spec.NodeName != node {
			t.Errorf("%s µs is on node %s, want %s", us, pod.Spec.NodeName, node)
		}
	}
	// Its own pod.yaml, "100", ended the process, as did what is no number.
	for name, c := range map[string][2]string{"hundred": {"100", "its labels dpdk and ovs-dpdk offer no 100 µs"}, "word": {"fast", "not a whole number of microseconds"}} {
		p.Pod(t, name, thesis(c[0]))
		if why := p.Refused(t, name); !strings.Contains(why, c[1]) {
			t.Errorf("latency: %q: %s", c[0], why)
		}
	}
	// Pods without the annotation were never bound.
	p.Pod(t, "ordinary", nil)
	p.Bound(t, "ordinary")
	// Nodes were listed once: one that comes later, and one that is not schedulable.
	p.cordon(t, "plain")
	p.Node(t, "later", map[string]string{"dpdk": "1"})
	p.cordon(t, "port")
	p.seen(t)
	p.Pod(t, "on-later", thesis("800"))
	if pod := p.Bound(t, "on-later"); pod.Spec.NodeName != "later" {
		t.Errorf("a pod is on node %s, which is not to take any", pod.Spec.NodeName)
	}
	// CPU and memory were not looked at.
	p.Pod(t, "large", thesis("10000"), func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: *quantity("1000")}
	})
	if why := p.Refused(t, "large"); !strings.Contains(why, "Insufficient cpu") {
		t.Errorf("a pod that is too large: %s", why)
	}
	// No better tier was taken where the right one was missing, and what is measured did not count.
	p.cordon(t, "ovs")
	p.label(t, "later", "dpdk", "2")
	p.seen(t)
	p.Pod(t, "better", thesis("5000"))
	if pod := p.Bound(t, "better"); pod.Spec.NodeName != "later" {
		t.Errorf("without Open vSwitch 5000 µs is on node %s", pod.Spec.NodeName)
	}
	p.Node(t, "measured", nil)
	p.measure(t, "measured", figureOf("memif", "", 70))
	if pod := p.Bound(t, "hundred"); pod.Spec.NodeName != "measured" {
		t.Errorf("100 µs is on node %s", pod.Spec.NodeName)
	}
}

func (p plane) ports(t *testing.T) {
	p.Node(t, "n1", map[string]string{"dpdk": "3"})
	two := thesis("800")
	two["nines.dev/ports"] = "2" // the thesis counted always one
	p.Pod(t, "two", two)
	p.Bound(t, "two")
	p.Pod(t, "one", thesis("800"))
	p.Bound(t, "one")
	p.Pod(t, "more", thesis("800"))
	if why := p.Refused(t, "more"); !strings.Contains(why, "pods have taken all ports that its label dpdk counts") {
		t.Errorf("it says %s", why)
	}
	// The count was in memory alone.
	p.KillScheduler()
	p.StartScheduler(t)
	p.Pod(t, "and-more", thesis("800"))
	p.Refused(t, "and-more")
	// Ports were never released.
	p.remove(t, "two")
	p.Bound(t, "more")
	p.Bound(t, "and-more")
	p.Pod(t, "last", thesis("800"))
	p.Refused(t, "last")
}

// killed has many clients ask for few ports, while the scheduler is killed.
func (p plane) killed(t *testing.T) {
	pods, ports, clients, kills := 40, 6, 8, 3
	if labtest.Long() {
		pods, ports, clients, kills = 500, 50, 20, 10
	}
	for i := range 3 {
		p.Node(t, "n"+strconv.Itoa(i), map[string]string{"dpdk": strconv.Itoa(ports / 3)})
	}
	ports = ports / 3 * 3
	p.flood(t, clients, pods, kills, func(i int) error {
		_, err := p.MakePod(t.Context(), "p"+strconv.Itoa(i), thesis("800"))
		return err
	})
	each := func(string) int { return ports / 3 }
	p.settle(t, pods, ports, each)
	// Half of the ports are freed: those who wait get them, and no more than that.
	freed := 0
	for _, pod := range p.pods(t) {
		if pod.Spec.NodeName != "" && freed < ports/2 {
			p.remove(t, pod.Name)
			freed++
		}
	}
	p.settle(t, pods-freed, ports, each)
}

// flood makes things from several clients at once, and kills the scheduler meanwhile.
func (p plane) flood(t *testing.T, clients, things, kills int, make func(int) error) {
	t.Helper()
	next := 0
	var lock sync.Mutex
	take := func() int {
		lock.Lock()
		defer lock.Unlock()
		next++
		return next - 1
	}
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for i := take(); i < things; i = take() {
				if err := make(i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range kills {
		before := p.bound(t)
		p.KillScheduler()
		p.LaunchScheduler(t)
		// It is killed again in the middle of its work: when it has bound something, or has
		// nothing left to bind.
		for tries := 0; tries < 100 && p.bound(t) == before; tries++ {
			pause(t)
		}
	}
	all.Wait()
}

func (p plane) pods(t *testing.T) []corev1.Pod {
	t.Helper()
	list, err := p.Kube.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func (p plane) bound(t *testing.T) int {
	n := 0
	for _, pod := range p.pods(t) {
		if pod.Spec.NodeName != "" {
			n++
		}
	}
	return n
}
