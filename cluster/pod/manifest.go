package pod

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/request"
	"nines.dev/nines/exit"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

// leastMemory is the memory of a pod with CPUs of its own, where the order names none: the kubelet
// gives whole CPUs only to pods that limit both.
const leastMemory = 256 << 20

// container is the name of the only container of a pod.
const container = "node"

// Manifest is the pod of an order, or an error that says what the order may ask for. It is pure.
func Manifest(o node.PodOrder) (*v1.Pod, error) {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: o.Name, Namespace: o.Namespace, Labels: o.Labels},
		Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyNever,
			SchedulerName: o.Scheduler,
			NodeSelector:  o.Selector,
			// nines-init ends at once when it is told to.
			TerminationGracePeriodSeconds: new(int64(1)),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			Containers: []v1.Container{{
				Name: container, Image: o.Image, ImagePullPolicy: v1.PullIfNotPresent,
				Command: []string{"nines-init", "lxc"}, Env: environment(o.Env), Resources: resources(o),
				SecurityContext: &v1.SecurityContext{
					AllowPrivilegeEscalation: new(false),
					Capabilities:             &v1.Capabilities{Drop: []v1.Capability{"ALL"}},
				},
			}},
		},
	}
	if o.Latency != "" {
		var err error
		if pod.Annotations, err = request.Annotations(o.Latency); err != nil {
			return nil, exit.Wrongf("latency: %w; such as %s", err, request.Example)
		}
	}
	if o.Host != "" {
		pod.Spec.Affinity = onHost(o.Host)
	}
	if len(o.Ports) > 0 {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: claimInPod, ResourceClaimName: new(claimName(o))}}
		pod.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: claimInPod}}
	}
	if slices.ContainsFunc(o.Ports, func(p plan.PodPort) bool { return p.SocketMap }) {
		// To open AF_XDP sockets, and to lock their packet memory. The profiles of container runtimes allow bpf(2), by
		// which a map is opened, only with capabilities that are good for much more.
		context := pod.Spec.Containers[0].SecurityContext
		context.Capabilities.Add = []v1.Capability{"NET_RAW", "IPC_LOCK"}
		context.SeccompProfile = &v1.SeccompProfile{Type: v1.SeccompProfileTypeUnconfined}
	}
	return pod, nil
}

// onHost lets the scheduler choose one node only, by its name: its label of the host's name may
// differ. The scheduler still sees to it that the pod fits.
func onHost(name string) *v1.Affinity {
	return &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
		NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{
			Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{name},
		}}}},
	}}}
}

func environment(env map[string]string) []v1.EnvVar {
	var list []v1.EnvVar
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, v1.EnvVar{Name: name, Value: env[name]})
	}
	return list
}

// resources ask for what they limit, so that a pod with whole CPUs has them for itself.
func resources(o node.PodOrder) v1.ResourceRequirements {
	memory := o.MemoryBytes
	if memory == 0 && o.CPUs > 0 {
		memory = leastMemory
	}
	if memory == 0 {
		return v1.ResourceRequirements{}
	}
	list := v1.ResourceList{v1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI)}
	if o.CPUs > 0 {
		list[v1.ResourceCPU] = *resource.NewQuantity(int64(o.CPUs), resource.DecimalSI)
	}
	return v1.ResourceRequirements{Requests: list, Limits: list}
}
