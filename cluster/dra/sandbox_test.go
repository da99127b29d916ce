package dra

import (
	"testing"

	"github.com/containerd/nri/pkg/api"
)

func TestWhereAPodsNetworkIs(t *testing.T) {
	for path, want := range map[string]string{"/var/run/netns/cni-1": "/run/netns/cni-1", "/proc/7/ns/net": "/proc/7/ns/net", "": ""} {
		pod := &api.PodSandbox{Linux: &api.LinuxPodSandbox{Namespaces: []*api.LinuxNamespace{{Type: "pid", Path: "/x"}, {Type: "network", Path: path}}}}
		if got, err := namespaceOf(pod); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
}
