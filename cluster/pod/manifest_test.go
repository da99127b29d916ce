package pod

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/node"
)

func order() node.PodOrder {
	return node.PodOrder{
		PodPlace: node.PodPlace{Namespace: "measuring", Name: "pods-a"}, Labels: map[string]string{node.PodLabToken: "nines-1"}, Image: "image",
	}
}

func manifest(t *testing.T, o node.PodOrder) *v1.Pod {
	t.Helper()
	p, err := Manifest(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAPodHasNoRights: it can do nothing in the cluster, and little on its node.
func TestAPodHasNoRights(t *testing.T) {
	p := manifest(t, order())
	rights := p.Spec.Containers[0].SecurityContext
	if *p.Spec.AutomountServiceAccountToken || *rights.AllowPrivilegeEscalation || rights.Privileged != nil || rights.Capabilities.Drop[0] != "ALL" {
		t.Errorf("its rights are %+v, %+v", p.Spec, rights)
	}
	if p.Spec.RestartPolicy != v1.RestartPolicyNever {
		t.Error("an engine that has died would come again, without its ports")
	}
}

// TestAPodWithCPUsIsGuaranteed: the kubelet gives whole CPUs to no other.
func TestAPodWithCPUsIsGuaranteed(t *testing.T) {
	o := order()
	if got := qos.GetPodQOS(manifest(t, o)); got != v1.PodQOSBestEffort {
		t.Errorf("without CPUs it is %s", got)
	}
	o.CPUs = 2
	for _, memory := range []int64{0, 1 << 30} {
		o.MemoryBytes = memory
		p := manifest(t, o)
		if got := qos.GetPodQOS(p); got != v1.PodQOSGuaranteed || p.Spec.Containers[0].Resources.Limits.Cpu().Value() != 2 {
			t.Errorf("with 2 CPUs and %d bytes it is %s, %v", memory, got, p.Spec.Containers[0].Resources)
		}
	}
	o.CPUs = 0
	if got := manifest(t, o).Spec.Containers[0].Resources.Limits.Memory().Value(); got != 1<<30 {
		t.Errorf("its memory is limited to %d", got)
	}
}

func TestWhereAPodGoes(t *testing.T) {
	o := order()
	o.Host, o.Latency, o.Selector, o.Scheduler = "n1", "p99 < 1ms", map[string]string{"zone": "a"}, "nines"
	p := manifest(t, o)
	terms := p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(terms) != 1 || terms[0].MatchFields[0].Values[0] != "n1" || p.Spec.NodeName != "" {
		t.Errorf("its node is %+v", terms)
	}
	if p.Annotations["nines.dev/latency"] != "p99 < 1ms" || p.Spec.NodeSelector["zone"] != "a" || p.Spec.SchedulerName != "nines" {
		t.Errorf("it goes by %v, %+v", p.Annotations, p.Spec)
	}
}

// TestAPodAsksAsTheThesisDoes: a whole number is the thesis's annotation, which labels may stand in for.
func TestAPodAsksAsTheThesisDoes(t *testing.T) {
	o := order()
	o.Latency = "800"
	if got := manifest(t, o).Annotations; len(got) != 1 || got["latency"] != "800" {
		t.Errorf("%v", got)
	}
	o.Latency = "fast"
	if _, err := Manifest(o); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "p99.99 < 100us") {
		t.Errorf("%v", err)
	}
}

// TestOwned: only the lab's own pod is deleted, however it came to its name.
func TestOwned(t *testing.T) {
	ours := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID("u"), Labels: map[string]string{node.PodLabToken: "nines-1"}}}
	for _, c := range []struct {
		pod    *v1.Pod
		remove node.PodRemoval
		want   bool
	}{
		{ours, node.PodRemoval{Token: "nines-1", UID: "u"}, true},
		{ours, node.PodRemoval{Token: "nines-1"}, true}, // killed before it was learnt
		{ours, node.PodRemoval{Token: "nines-1", UID: "other"}, false},
		{ours, node.PodRemoval{Token: "nines-2", UID: "u"}, false},
		{&v1.Pod{}, node.PodRemoval{}, false},
	} {
		if got := Owned(c.pod, c.remove); got != c.want {
			t.Errorf("%+v, %+v: %v", c.pod.ObjectMeta, c.remove, got)
		}
	}
}
