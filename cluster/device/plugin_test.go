package device

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	kubelet "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"nines.dev/nines/cluster/dra"
	"nines.dev/nines/cluster/port"
	"nines.dev/nines/spec"
)

const sources = `
ports:
  - {tier: macvlan, parent: lo, count: 11}
  - {tier: bridge, parent: not-there, count: 2}
  - {tier: switch, count: 2}
`

func resources(t *testing.T, folder string) []Resource {
	t.Helper()
	list, err := dra.ReadSources([]byte(sources))
	if err != nil {
		t.Fatal(err)
	}
	inv, err := dra.InventoryOf(list, "n1", filepath.Join(folder, port.SwitchSocket))
	if err != nil {
		t.Fatal(err)
	}
	return Resources(inv.Ports)
}

func TestEachParentIsAResource(t *testing.T) {
	list := resources(t, t.TempDir())
	var names []string
	for _, r := range list {
		names = append(names, r.Name)
	}
	if want := []string{"bridge-not-there", "macvlan-lo", "switch"}; !slices.Equal(names, want) {
		t.Fatalf("the resources are %q", names)
	}
	for i, want := range []struct{ health, last string }{
		{kubelet.Unhealthy, "bridge-not-there-2"}, {kubelet.Healthy, "macvlan-lo-11"}, {kubelet.Unhealthy, "switch-2"},
	} {
		devices := list[i].Devices(t.Context())
		last := devices[len(devices)-1]
		if last.ID != want.last || last.Health != want.health || last.Topology != nil {
			t.Errorf("the last of %s is %+v", names[i], last)
		}
	}
}

// told are the lists that the kubelet is told, each by the names of those that can be had.
type told struct {
	grpc.ServerStream
	ctx   context.Context
	lists []string
}

func (s *told) Context() context.Context { return s.ctx }

func (s *told) Send(r *kubelet.ListAndWatchResponse) error {
	var names []string
	for _, d := range r.Devices {
		if d.Health == kubelet.Healthy {
			names = append(names, d.ID)
		}
	}
	s.lists = append(s.lists, strings.Join(names, " "))
	return nil
}

// TestEachChangeIsTold, also where as many ports can be had as before.
func TestEachChangeIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		looks := []string{"1 2", "1 2", "2 3", "2 3", "3"}
		p := &Plugin{Look: func(context.Context) (list []*kubelet.Device) {
			now := looks[0]
			if looks = looks[1:]; len(looks) == 0 {
				cancel()
			}
			for _, id := range []string{"1", "2", "3"} {
				health := kubelet.Unhealthy
				if strings.Contains(now, id) {
					health = kubelet.Healthy
				}
				list = append(list, &kubelet.Device{ID: id, Health: health})
			}
			return list
		}}
		stream := &told{ctx: ctx}
		if err := p.ListAndWatch(nil, stream); err != nil {
			t.Fatal(err)
		}
		if want := []string{"1 2", "2 3", "3"}; !slices.Equal(stream.lists, want) {
			t.Errorf("told is %q, not %q", stream.lists, want)
		}
	})
}

func TestAContainerGetsWhatItsPortsWillBe(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "ports")
	switches := resources(t, folder)[2]
	p := &Plugin{Resource: switches, Keeper: port.Keeper{Folder: folder}}
	allocate := func(ids ...string) (*kubelet.ContainerAllocateResponse, error) {
		answer, err := p.Allocate(t.Context(), &kubelet.AllocateRequest{ContainerRequests: []*kubelet.ContainerAllocateRequest{{DevicesIds: ids}}})
		if err != nil {
			return nil, err
		}
		return answer.ContainerResponses[0], nil
	}
	for range 2 { // the kubelet may ask again, after a container that has ended
		got, err := allocate("switch-1", "switch-2")
		if err != nil {
			t.Fatal(err)
		}
		var inside []string
		for _, m := range got.Mounts {
			inside = append(inside, m.ContainerPath)
			if _, err := os.Stat(m.HostPath); err != nil || !m.ReadOnly {
				t.Errorf("%s is %+v: %v", m.HostPath, m, err)
			}
		}
		if want := []string{port.PortsFile, "/run/nines/ports/switch-1", "/run/nines/ports/switch-2"}; !slices.Equal(inside, want) {
			t.Errorf("it gets %q", inside)
		}
	}
	// A pod makes the socket of a port of Open vSwitch, so it may write into the folder.
	listens := port.Port{Name: "ovs-dpdk-br0-1", Tier: spec.LinkOVSDPDK, Parent: "br0", Socket: "/not-there"}
	p = &Plugin{Resource: Resource{Name: "ovs-dpdk-br0", Ports: []port.Port{listens}}, Keeper: p.Keeper}
	if got, err := allocate(listens.Name); err != nil || len(got.Mounts) != 2 || !got.Mounts[0].ReadOnly || got.Mounts[1].ReadOnly {
		t.Errorf("of Open vSwitch it gets %+v, %v", got, err)
	}
	if _, err := allocate("switch-9"); err == nil || !strings.Contains(err.Error(), "switch-9") {
		t.Errorf("a port that is not there: %v", err)
	}
}

// registry is a kubelet's, which counts who registers.
type registry struct {
	kubelet.UnimplementedRegistrationServer
	asked chan *kubelet.RegisterRequest
}

func (r *registry) Register(_ context.Context, q *kubelet.RegisterRequest) (*kubelet.Empty, error) {
	r.asked <- q
	return &kubelet.Empty{}, nil
}

// TestAPluginRegistersWithEachKubelet: a kubelet that starts removes the sockets of plugins. The real one
// is in package local's tests.
func TestAPluginRegistersWithEachKubelet(t *testing.T) {
	folder := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(folder, filepath.Base(kubelet.KubeletSocket)))
	if err != nil {
		t.Fatal(err)
	}
	server, r := grpc.NewServer(), &registry{asked: make(chan *kubelet.RegisterRequest, 8)}
	kubelet.RegisterRegistrationServer(server, r)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()

	ctx, cancel := context.WithCancel(t.Context())
	macvlans := resources(t, folder)[1]
	p := &Plugin{
		Resource: macvlans, Keeper: port.Keeper{Folder: filepath.Join(folder, "ports")}, Folder: folder,
		Look: macvlans.Devices,
	}
	ended := make(chan struct{})
	go func() { defer close(ended); p.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	for range 2 {
		q := <-r.asked
		if q.ResourceName != "nines.dev/macvlan-lo" || q.Version != kubelet.Version {
			t.Errorf("it registers %+v", q)
		}
		conn, err := grpc.NewClient("unix://"+filepath.Join(folder, q.Endpoint), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		stream, err := kubelet.NewDevicePluginClient(conn).ListAndWatch(t.Context(), &kubelet.Empty{})
		if err != nil {
			t.Fatal(err)
		}
		list, err := stream.Recv()
		if err != nil || len(list.Devices) != 11 {
			t.Fatalf("it lists %+v, %v", list, err)
		}
		_ = conn.Close()
		if err := os.Remove(filepath.Join(folder, q.Endpoint)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheInstalledPluginIsReplaced(t *testing.T) {
	folder := t.TempDir()
	program, path := filepath.Join(folder, "nines-cni"), filepath.Join(folder, "nines")
	for _, text := range []string{"one", "one", "another"} {
		before, _ := os.Stat(path)
		if err := errors.Join(os.WriteFile(program, []byte(text), 0o600), Install(program, path)); err != nil {
			t.Fatal(err)
		}
		now, err := os.ReadFile(path)
		info, missing := os.Stat(path)
		if err != nil || missing != nil || string(now) != text || info.Mode().Perm() != 0o755 {
			t.Errorf("installed is %q, %v, %v", now, err, missing)
		}
		if same := os.SameFile(before, info); before != nil && text == "another" == same {
			t.Errorf("%s: the same file: %v", text, same)
		}
	}
}

// follow is tested with plugins that find no kubelet, and end at once.
func TestResourcesAreFollowed(t *testing.T) {
	s := &Service{Keeper: port.Keeper{Folder: t.TempDir()}, Kubelet: t.TempDir(), running: map[string]*running{}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	defer s.stopAll()
	list := resources(t, s.Keeper.Folder)
	s.follow(ctx, list)
	kept := s.running["macvlan-lo"]
	list[2].Ports = list[2].Ports[:1]
	changed := s.running["switch"]
	s.follow(ctx, list[1:])
	if len(s.running) != 2 || s.running["macvlan-lo"] != kept || s.running["switch"] == changed {
		t.Errorf("running: %v", s.running)
	}
}
