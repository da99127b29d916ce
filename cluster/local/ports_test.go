package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"nines.dev/nines/cluster/local"
	"nines.dev/nines/cluster/port"
	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

// TestPodsHavePorts has the driver as a DaemonSet, by the ports files and of pods that users have as examples.
//
//	n1: eth0 ── macvlan ── pod          n2: eth0 ── macvlan ── pod
//	    └──────────── bridge of the nodes ──────┘
//	n1 or n2: sender ── vhost-user ── nines-engine ── vhost-user ── receiver, left ── memif ── right
func TestPodsHavePorts(t *testing.T) {
	c := newCluster(t)
	c.must("up", "--nodes", "2", "--ports", portsFile(t, countedPorts), "--name", c.name)
	c.kubectl("apply", "--filename", repositoryFile("examples/cluster/manifests/ports.yaml"))

	t.Run("AnInterface", func(t *testing.T) {
		c.running("with-interface")
		if got := c.address("with-interface", "fast0"); !strings.HasPrefix(got, "10.77.0.") {
			t.Errorf("it has the address %q", got)
		}
		var seen struct {
			Ports []struct{ Request, Kind, Interface, Tier string }
		}
		text := c.kubectl("exec", "with-interface", "--", "cat", "/etc/nines/ports.json")
		if err := json.Unmarshal([]byte(text), &seen); err != nil || len(seen.Ports) != 1 || seen.Ports[0].Interface != "fast0" || seen.Ports[0].Request != "fast" {
			t.Errorf("it sees %s, %v", text, err)
		}
	})
	t.Run("BetweenNodes", func(t *testing.T) {
		c.withPort("a", "n1", fastInterface)
		c.withPort("b", "n2", fastInterface)
		c.reaches(t, "a", "b", "fast0")
		c.gone("a", "b")
	})
	t.Run("OverXDP", func(t *testing.T) { c.overXDP(t) })
	t.Run("OverTheSwitch", func(t *testing.T) { c.overTheSwitch(t) })
	t.Run("OverAFXDP", func(t *testing.T) { c.overAFXDP(t) })
	t.Run("OverMemory", func(t *testing.T) { c.overMemory(t) })
	t.Run("TheClaimSaysWhatThePodGot", func(t *testing.T) {
		eventually(t, "the claim's status", func(ctx context.Context) error {
			claims, err := c.client().ResourceV1().ResourceClaims("default").List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			for _, claim := range claims.Items {
				if ownerOf(claim) == "with-interface" && len(claim.Status.Devices) == 1 && claim.Status.Devices[0].NetworkData.InterfaceName == "fast0" {
					return nil
				}
			}
			return errors.Join(errNotYet, asked(c.portsLog))
		})
	})
	t.Run("AClaimWithItsKeysInAnyOrder", func(t *testing.T) { c.anyOrder(t) })
	t.Run("ThePodIsToldWhatItGot", func(t *testing.T) {
		c.event("with-interface", "PortAttached")
		c.event("sender", "PortAttached")
	})
	t.Run("ByLatency", func(t *testing.T) { c.byLatency(t) })
	t.Run("ByBandwidth", func(t *testing.T) { c.byBandwidth(t) })
	t.Run("BesideAnother", func(t *testing.T) {
		c.gone("one", "other", "late")
		c.beside(t)
	})
	c.whole(t)
	c.gone("with-interface", "sender", "receiver", "polls", "polls-too", "left", "right")
	c.kubectl("delete", "resourceclaim", "memory")
	for _, node := range []string{"n1", "n2"} {
		c.noPortsLeft(node)
	}
}

func (c *cluster) kubectl(arguments ...string) string {
	c.t.Helper()
	return c.must(append([]string{"kubectl", "--name", c.name, "--"}, arguments...)...)
}

// running waits until a pod runs.
func (c *cluster) running(name string) {
	c.t.Helper()
	eventually(c.t, "pod "+name+" runs", func(ctx context.Context) error {
		pod, err := c.client().CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil || pod.Status.Phase == v1.PodRunning && pod.Status.ContainerStatuses[0].Ready {
			return err
		}
		return errors.Join(fmt.Errorf("%w: %s", errNotYet, pod.Status.Phase), asked(func() string {
			events, _, _ := c.run("kubectl", "--name", c.name, "--", "get", "events", "--field-selector", "involvedObject.name="+name, "-o", "custom-columns=M:.message")
			drivers, _, _ := c.run("kubectl", "--name", c.name, "--", "--namespace", "nines", "get", "pods", "-o", "wide")
			return events + drivers + c.portsLog()
		}))
	})
}

func (c *cluster) portsLog() string {
	out, _, _ := c.run("kubectl", "--name", c.name, "--", "--namespace", "nines", "logs", "--selector", "app=nines-ports", "--tail", "8")
	return out
}

// reaches waits until both pods run, and packets of one get answers of the other by their ports.
func (c *cluster) reaches(t *testing.T, from, to, device string) {
	t.Helper()
	c.running(from)
	c.running(to)
	eventually(t, from+" reaches "+to+" by their ports", func(context.Context) error {
		out, _, err := c.run("kubectl", "--name", c.name, "--", "exec", from, "--", "ping", "-c", "2", "-W", "5", "-I", device, c.address(to, device))
		if err != nil || !strings.Contains(out, " 0% packet loss") {
			return fmt.Errorf("%w: %s", errNotYet, out)
		}
		return nil
	})
}

// fastInterface is the template of an example's.
const fastInterface = "fast-interface"

// withPort makes a pod on a node with an interface by a template.
func (c *cluster) withPort(name, node, template string) {
	c.t.Helper()
	pod := podWithClaim(name, node, v1.PodResourceClaim{Name: "net", ResourceClaimTemplateName: &template})
	eventually(c.t, "make pod "+name, func(ctx context.Context) error {
		_, err := c.client().CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

// podWithClaim is a pod for a node, whose container uses its claim, which is called net.
func podWithClaim(name, node string, claim v1.PodResourceClaim) *v1.Pod {
	return &v1.Pod{
		// It is not to start in the moment in which no driver runs.
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"required-plugins.noderesource.dev": "[nines-ports]"}},
		Spec: v1.PodSpec{
			NodeSelector:                  map[string]string{"kubernetes.io/hostname": node},
			TerminationGracePeriodSeconds: new(int64(0)),
			ResourceClaims:                []v1.PodResourceClaim{claim},
			Containers: []v1.Container{{
				Name: "it", Image: local.BusyboxImage, ImagePullPolicy: v1.PullNever, Command: []string{"sleep", "100000"},
				Resources: v1.ResourceRequirements{Claims: []v1.ResourceClaim{{Name: "net"}}},
			}},
		},
	}
}

// address is that of an interface of a pod, without the network's length.
func (c *cluster) address(pod, device string) (found string) {
	c.t.Helper()
	eventually(c.t, device+" of "+pod, func(context.Context) error {
		out, _, err := c.run("kubectl", "--name", c.name, "--", "exec", pod, "--", "ip", "-4", "address", "show", device)
		_, rest, has := strings.Cut(out, "inet ")
		if err != nil || !has {
			return fmt.Errorf("%w: %s", errNotYet, out)
		}
		found, _, _ = strings.Cut(rest, "/")
		return nil
	})
	return found
}

// gone deletes pods and waits until they and their claims are gone.
func (c *cluster) gone(pods ...string) {
	c.t.Helper()
	eventually(c.t, fmt.Sprintf("delete %q", pods), func(ctx context.Context) error {
		for _, name := range pods {
			_ = c.client().CoreV1().Pods("default").Delete(ctx, name, metav1.DeleteOptions{})
		}
		claims, err := c.client().ResourceV1().ResourceClaims("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, claim := range claims.Items {
			if slices.Contains(pods, ownerOf(claim)) {
				return fmt.Errorf("claim %s is still there", claim.Name)
			}
		}
		return nil
	})
}

// ownerOf is the pod that a claim was made for; none for one that someone made.
func ownerOf(claim resourcev1.ResourceClaim) string {
	if len(claim.OwnerReferences) == 0 {
		return ""
	}
	return claim.OwnerReferences[0].Name
}

// onNode runs a command in the namespaces of a node.
func (c *cluster) onNode(node string, argv ...string) string {
	c.t.Helper()
	var out []byte
	eventually(c.t, "look at "+node, func(context.Context) (err error) {
		for _, part := range c.status(c.t).Parts {
			if part.Name == node {
				out, err = exec.Command("nsenter", append([]string{"--target", fmt.Sprint(part.PID), "--mount", "--net", "--pid"}, argv...)...).CombinedOutput()
			}
		}
		return err
	})
	return strings.TrimSpace(string(out))
}

// noPortsLeft waits until a node has its ports back, and nothing of them is there.
func (c *cluster) noPortsLeft(node string) {
	c.t.Helper()
	eventually(c.t, node+" has its ports back", func(context.Context) error {
		held := c.onNode(node, "ls", "-A", "/run/nines/ports")
		devices := c.onNode(node, "ls", "/run/cdi")
		if held != ".switch" || devices != "" {
			return fmt.Errorf("held: %q, devices for containers: %q", held, devices)
		}
		for name := range strings.FieldsSeq(c.devicesOf(node)) {
			if strings.HasPrefix(name, "np") {
				return fmt.Errorf("the device %s of a port", name)
			}
		}
		return c.noSwitchPorts(node)
	})
}

// devicesOf are the names of a node's devices, but for those of the cluster's own network.
func (c *cluster) devicesOf(node string) string {
	c.t.Helper()
	var names []string
	for line := range strings.Lines(c.inNode(node, false, "ip", "-o", "link")) {
		name, _, _ := strings.Cut(strings.Fields(line)[1], "@")
		// A node has its bridge, cni0, from its first pod on.
		if name = strings.TrimSuffix(name, ":"); !strings.HasPrefix(name, "veth") && name != "cni0" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// noSwitchPorts is nil if a node's switch has no ports.
func (c *cluster) noSwitchPorts(node string) error {
	ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
	defer cancel()
	// It serves one client at a time, and the driver is another.
	there, err := client.Dial(ctx, fmt.Sprintf("/proc/%d/root", c.nodePID(node))+"/run/nines/ports/.switch")
	if err != nil {
		return err
	}
	defer there.Close()
	stats, err := there.SwitchStats()
	if refused := new(client.Error); errors.As(err, &refused) {
		return nil // the node has no ports of it, so it does not switch
	}
	if err == nil && len(stats.Ports) > 0 {
		err = fmt.Errorf("%w: the switch has the ports %+v", errNotYet, stats.Ports)
	}
	return err
}

// overTheSwitch sends packets between engines in two pods.
func (c *cluster) overTheSwitch(t *testing.T) {
	c.running("sender")
	c.running("receiver")
	end := func(pod string) podEnd {
		return dpdkEnd(pod, "net_virtio_user0,path=/run/nines/ports/user/s", c.seenBy(pod).MAC)
	}
	c.packetsPass(t, end("sender"), end("receiver"))
}

// seenBy is the only port of a pod, as it finds it in its file.
func (c *cluster) seenBy(pod string) port.Seen {
	c.t.Helper()
	p := c.pod(pod)
	// Their image has no program that shows a file.
	text := c.onNode(p.Spec.NodeName, "cat", "/run/nines/ports/.pods/"+string(p.UID)+".json")
	var seen struct{ Ports []port.Seen }
	if err := json.Unmarshal([]byte(text), &seen); err != nil || len(seen.Ports) != 1 || seen.Ports[0].MAC == "" {
		c.t.Fatalf("%s sees %s, %v", pod, text, err)
	}
	return seen.Ports[0]
}

// overMemory sends packets between engines in two pods that share memory.
func (c *cluster) overMemory(t *testing.T) {
	const device = "net_memif0,socket-abstract=no,socket=/run/nines/shared/memory/m,role="
	c.running("left")
	c.running("right")
	// The socket is its server's, so that is first.
	c.packetsPass(t, dpdkEnd("right", device+"client", "02:00:00:00:00:01"), dpdkEnd("left", device+"server", "02:00:00:00:00:02"))
}

// podEnd is an engine in a pod, with the MAC address of its port and what it opens.
type podEnd struct {
	pod, mac string
	opens    client.Port
}

// dpdkEnd opens a device of DPDK.
func dpdkEnd(pod, device, mac string) podEnd {
	return podEnd{pod, mac, client.Port{Backend: "dpdk", IO: "batch", Wait: "spin", Device: device + ",mac=" + mac}}
}

// packetsPass sends packets from one pod to another by engines in them, of which the receiver opens its port
// first.
func (c *cluster) packetsPass(t *testing.T, from, to podEnd) {
	t.Helper()
	engines := map[string]*labtest.Engine{}
	for _, end := range []struct {
		podEnd
		port, peerMAC string
		own, peer     int
	}{{to, "rx", from.mac, 2, 1}, {from, "tx", to.mac, 1, 2}} {
		engine := labtest.RunEngine(t, c.command(c.program, "kubectl", "--name", c.name, "--", "exec", "--stdin", end.pod, "--", "nines-engine"))
		if end.opens.Backend == "dpdk" {
			if _, err := engine.StartDPDK(client.DPDK{Prefix: end.pod, MemoryBytes: 64 << 20, CPU: -1}); err != nil {
				t.Fatal(err)
			}
		}
		p := end.opens
		p.Name, p.FrameBytes, p.Flows, p.UDPPort = end.port, 64, 1, 7999
		p.LocalMAC, p.LocalIP, p.PeerMAC, p.PeerIP = end.mac, fmt.Sprintf("198.18.9.%d", end.own), end.peerMAC, fmt.Sprintf("198.18.9.%d", end.peer)
		if _, err := engine.Open(p); err != nil {
			t.Fatal(err)
		}
		engines[end.port] = engine
	}
	if sent, arrived := labtest.OneWay(t, engines["tx"].Client, engines["rx"].Client); sent == 0 || arrived != sent {
		t.Errorf("%d of %d packets arrived", arrived, sent)
	}
}

// anyOrder has a claim as a program may write it: the API server keeps the order of its parameters' keys.
func (c *cluster) anyOrder(t *testing.T) {
	claims := c.client().ResourceV1().ResourceClaims("default")
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "any-order"}, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
		Requests: []resourcev1.DeviceRequest{{Name: "fast", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "macvlan.nines.dev"}}},
		Config: []resourcev1.DeviceClaimConfiguration{{DeviceConfiguration: resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{
			Driver: "ports.nines.dev", Parameters: runtime.RawExtension{Raw: []byte(`{"kind":"PortConfig","interface":"fast0","apiVersion":"ports.nines.dev/v1alpha1"}`)},
		}}}},
	}}}
	if _, err := claims.Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := podWithClaim("any-order", "n1", v1.PodResourceClaim{Name: "net", ResourceClaimName: &claim.Name})
	if _, err := c.client().CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.running("any-order")
	eventually(t, "the claim says what its pod got", func(ctx context.Context) error {
		now, err := claims.Get(ctx, claim.Name, metav1.GetOptions{})
		if err == nil && (len(now.Status.Devices) != 1 || now.Status.Devices[0].NetworkData.InterfaceName != "fast0") {
			err = fmt.Errorf("%w: %+v", errNotYet, now.Status.Devices)
		}
		return err
	})
	c.gone("any-order")
	c.kubectl("delete", "resourceclaim", "any-order")
}
