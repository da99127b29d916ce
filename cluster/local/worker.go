package local

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelet "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"nines.dev/nines/cluster/local/inside"
)

// containerdSocket is where containerd serves the kubelet, in the node.
const containerdSocket = "/run/containerd/containerd.sock"

// networkFolder has the configuration of the pods' network, below the node's folder.
const networkFolder = "net.d"

// hostSysctls are the settings of the whole host that the kubelet wants to have, and sets
// (setupKernelTunables in pkg/kubelet/cm/container_manager_linux.go of Kubernetes).
var hostSysctls = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// worker makes the files of a node.
func (l Layout) worker(a *authority, n Node, cpus int) (map[string][]byte, error) {
	user := "system:node:" + n.Name
	who, err := a.client(user, "system:nodes")
	if err != nil {
		return nil, err
	}
	// By the service's address, so that what reaches the API server is as in pods.
	access, err := kubeconfig(l.Name, "https://"+APIService.String(), a.PEM, user, who)
	if err != nil {
		return nil, err
	}
	config, err := yaml.Marshal(kubeletConfiguration(cpus))
	if err != nil {
		return nil, fmt.Errorf("write the kubelet's configuration: %w", err)
	}
	networks := podNetwork(n)
	if l.Multus {
		networks = multusNetwork(networks)
	}
	network, err := json.MarshalIndent(networks, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the pods' network: %w", err)
	}
	return map[string][]byte{
		"ca.crt": a.PEM, kubeletAccess: access, "kubelet.yaml": config,
		"containerd.toml": []byte(containerdConfiguration),
		filepath.Join(networkFolder, "10-pods.conflist"): network,
	}, nil
}

// kubeletAccess is how the kubelet, and what the runtime calls for a pod, reach the API server.
const kubeletAccess = "kubelet.conf"

// workerPart is what a node runs.
func (l Layout) workerPart(n Node, groups inside.Groups, images []string) inside.Part {
	in := func(file string) string { return filepath.Join(inside.Folder, file) }
	program := func(name string) string { return filepath.Join(inside.Programs, name) }
	p := inside.Part{Name: n.Name, Groups: groups, Sysctls: hostSysctls, Programs: []inside.Program{{
		Name: "containerd", Ready: "unix:" + containerdSocket,
		Argv: []string{program("containerd"), "--config", in("containerd.toml")},
	}}}
	// Not by containerd's transfer service (--local), which takes twice the CPU time for what is on this host.
	for _, image := range images {
		p.Programs = append(p.Programs, inside.Program{
			Name: "import-" + image, Once: true,
			Argv: []string{program("ctr"), "--address", containerdSocket, "--namespace", "k8s.io",
				"images", "import", "--local", "--label", "io.cri-containerd.pinned=pinned", filepath.Join(inside.Images, image+".tar")},
		})
	}
	p.Programs = append(p.Programs, inside.Program{
		Name: "kubelet", Ready: "tcp:127.0.0.1:10248", // its health, healthzPort
		Argv: []string{program(kubeProgram), "kubelet", "--config", in("kubelet.yaml"), "--kubeconfig", in(kubeletAccess),
			"--hostname-override", n.Name, "--node-ip", n.Address.String(), "--root-dir", "/var/lib/kubelet"},
	})
	return p
}

// kubeletConfiguration is the same for all nodes.
func kubeletConfiguration(cpus int) kubelet.KubeletConfiguration {
	no, zero := false, int32(0)
	c := kubelet.KubeletConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: "kubelet.config.k8s.io/v1beta1", Kind: "KubeletConfiguration"},
		Authentication: kubelet.KubeletAuthentication{
			X509:      kubelet.KubeletX509Authentication{ClientCAFile: filepath.Join(inside.Folder, "ca.crt")},
			Anonymous: kubelet.KubeletAnonymousAuthentication{Enabled: &no},
		},
		ContainerRuntimeEndpoint: "unix://" + containerdSocket,
		CgroupDriver:             "cgroupfs",
		FailCgroupV1:             &no,
		FailSwapOn:               &no,
		// It does without what only the host's root may do: settings of the kernel, OOM scores below
		// its own, the kernel's messages.
		FeatureGates:           map[string]bool{"KubeletInUserNamespace": true},
		OOMScoreAdj:            &zero,
		MakeIPTablesUtilChains: &no,
		ResolverConfig:         new(string),
		VolumePluginDir:        "/var/lib/kubelet/volume-plugins",
		// A node that is gone is noticed, and a new image seen, without a minute's wait.
		NodeStatusUpdateFrequency: metav1.Duration{Duration: 5 * time.Second},
		// A kubelet that hears of a pod before the API server's authorizer does may not read the pod's claim yet, and tries
		// again only when it looks at all pods: a minute and a half later, by default.
		SyncFrequency: metav1.Duration{Duration: 10 * time.Second},
		// Nor does who tries out what happens when a program is killed wait five minutes for it to come back.
		CrashLoopBackOff: kubelet.CrashLoopBackOffConfig{
			MaxContainerRestartPeriod: &metav1.Duration{Duration: 2 * time.Second},
		},
		// What fills the host's memory is not for one of its nodes to act upon by evicting pods.
		EvictionHard: map[string]string{"memory.available": "100Mi", "nodefs.available": "2%", "imagefs.available": "2%"},
	}
	if cpus > 1 {
		// Whole CPUs for who asks for them. CPU 0 stays for everyone.
		c.CPUManagerPolicy = "static"
		c.ReservedSystemCPUs = "0"
		c.TopologyManagerPolicy = "single-numa-node"
	}
	return c
}

// podNetwork is the configuration of the pods' network on a node: a bridge with the node's network
// of pods. The nodes' routes lead to those of the others.
func podNetwork(n Node) map[string]any {
	return map[string]any{
		"cniVersion": "1.0.0",
		"name":       "pods",
		"plugins": []any{map[string]any{
			"type": "bridge", "bridge": "cni0", "isDefaultGateway": true, "hairpinMode": true,
			"ipam": map[string]any{
				"type": "host-local", "dataDir": "/run/cni-addresses",
				"ranges": []any{[]any{map[string]any{"subnet": n.Pods.String()}}},
			},
		}},
	}
}

// multusNetwork has Multus make the pods' network, and those that their annotations name.
func multusNetwork(pods map[string]any) map[string]any {
	return map[string]any{
		"cniVersion": "1.0.0",
		"name":       "multus",
		"plugins": []any{map[string]any{
			"type": "multus", "kubeconfig": filepath.Join(inside.Folder, kubeletAccess), "delegates": []any{pods},
		}},
	}
}

// containerdConfiguration keeps containerd's files where the node has memory for them, and out of
// what only the host's root may do.
const containerdConfiguration = `version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]

[grpc]
address = "` + containerdSocket + `"

[plugins."io.containerd.internal.v1.opt"]
path = "/var/lib/containerd/opt"

# A pod may say that it does not start without a plugin of NRI, such as that which gives it its ports.
[plugins."io.containerd.nri.v1.nri".default_validator]
enable = true

[plugins."io.containerd.cri.v1.images"]
snapshotter = "overlayfs"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "` + pauseImage + `"

[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true
disable_apparmor = true
enable_cdi = true
cdi_spec_dirs = ["/run/cdi"]
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["` + inside.Programs + `/cni", "/opt/cni/bin"]
conf_dir = "` + inside.Folder + `/` + networkFolder + `"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = false
`
