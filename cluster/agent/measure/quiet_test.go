package measure

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func pod(class v1.PodQOSClass, cpu string, phase v1.PodPhase, annotations map[string]string) v1.Pod {
	p := v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "it", Annotations: annotations}}
	p.Status.QOSClass, p.Status.Phase = class, phase
	p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}}}
	return p
}

func TestATrialNeverRunsBesideAnIsolatedPod(t *testing.T) {
	isolated := map[string]string{IsolationKey: "cpus"}
	for name, test := range map[string]struct {
		pod      v1.Pod
		disturbs bool
	}{
		"one that asked":           {pod(v1.PodQOSBestEffort, "0", v1.PodRunning, isolated), true},
		"one that will run":        {pod(v1.PodQOSBestEffort, "0", v1.PodPending, isolated), true},
		"one that has ended":       {pod(v1.PodQOSBestEffort, "0", v1.PodSucceeded, isolated), false},
		"one that asked for none":  {pod(v1.PodQOSBestEffort, "0", v1.PodRunning, map[string]string{IsolationKey: "none"}), false},
		"one with whole CPUs":      {pod(v1.PodQOSGuaranteed, "2", v1.PodRunning, nil), true},
		"one with parts of CPUs":   {pod(v1.PodQOSGuaranteed, "1500m", v1.PodRunning, nil), false},
		"one that may burst":       {pod(v1.PodQOSBurstable, "2", v1.PodRunning, nil), false},
		"an ordinary one":          {pod(v1.PodQOSBestEffort, "0", v1.PodRunning, nil), false},
		"one that ended with CPUs": {pod(v1.PodQOSGuaranteed, "2", v1.PodFailed, nil), false},
	} {
		others := pod(v1.PodQOSBestEffort, "0", v1.PodRunning, nil)
		if found := Disturbs([]v1.Pod{others, test.pod}); (found != nil) != test.disturbs {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func TestABusyNodeWaits(t *testing.T) {
	if Busy(0.9, 0.5) != "" || Busy(0.5, 0.5) != "" {
		t.Error("a quiet node is busy")
	}
	if got := Busy(0.25, 0.5); got != "its CPUs were only 25 % idle; a trial needs 50 %" {
		t.Error(got)
	}
}
