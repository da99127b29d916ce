package device

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	kubelet "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"nines.dev/nines/cluster/port"
)

// Plugin serves one resource to the kubelet.
type Plugin struct {
	kubelet.UnimplementedDevicePluginServer
	Resource
	Keeper port.Keeper
	// Folder is the kubelet's folder for device plugins, with the sockets of the kubelet and of the plugins.
	Folder string
	// Look returns the current devices, as Resource.Devices does.
	Look func(context.Context) []*kubelet.Device
}

// lookAgain is how often the plugin checks whether the ports' parent exists, and whether the kubelet was
// restarted.
const lookAgain = 5 * time.Second

func (p *Plugin) socket() string { return "nines-" + p.Name + ".sock" }

// Run serves the kubelet until ctx ends. A starting kubelet removes all sockets of plugins, and expects the
// plugins to register again.
func (p *Plugin) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := p.serve(ctx); err != nil && ctx.Err() == nil {
			slog.Error("serve the kubelet", "resource", Domain+p.Name, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookAgain):
		}
	}
}

// serve serves the kubelet until it restarts.
func (p *Plugin) serve(ctx context.Context) error {
	path := filepath.Join(p.Folder, p.socket())
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := grpc.NewServer()
	kubelet.RegisterDevicePluginServer(server, p)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	err = p.register(ctx)
	for err == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(lookAgain):
		}
		_, err = os.Lstat(path)
	}
	if errors.Is(err, os.ErrNotExist) {
		slog.Info("the kubelet was restarted", "resource", Domain+p.Name)
		err = nil
	}
	cancel()
	server.Stop() // a graceful stop would wait for ListAndWatch, which does not end
	if stopped := <-served; stopped != nil && !errors.Is(stopped, grpc.ErrServerStopped) {
		err = errors.Join(err, stopped)
	}
	return err
}

// register registers the plugin with the kubelet.
func (p *Plugin) register(ctx context.Context) error {
	conn, err := grpc.NewClient("unix://"+filepath.Join(p.Folder, filepath.Base(kubelet.KubeletSocket)), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_, err = kubelet.NewRegistrationClient(conn).Register(ctx, &kubelet.RegisterRequest{
		Version: kubelet.Version, Endpoint: p.socket(), ResourceName: Domain + p.Name,
		Options: &kubelet.DevicePluginOptions{},
	})
	if err != nil {
		return fmt.Errorf("register with the kubelet: %w", err)
	}
	slog.Info("registered", "resource", Domain+p.Name, "ports", len(p.Ports))
	return nil
}

// GetDevicePluginOptions says that the plugin needs no other calls.
func (p *Plugin) GetDevicePluginOptions(context.Context, *kubelet.Empty) (*kubelet.DevicePluginOptions, error) {
	return &kubelet.DevicePluginOptions{}, nil
}

// ListAndWatch sends the list of ports, and sends it again when one of them has changed.
func (p *Plugin) ListAndWatch(_ *kubelet.Empty, stream grpc.ServerStreamingServer[kubelet.ListAndWatchResponse]) error {
	ctx := stream.Context()
	var told []*kubelet.Device
	for {
		devices := p.Look(ctx)
		if !slices.EqualFunc(devices, told, func(a, b *kubelet.Device) bool { return proto.Equal(a, b) }) {
			slog.Info("listed", "resource", Domain+p.Name, "healthy", healthy(devices), "of", len(devices))
			if err := stream.Send(&kubelet.ListAndWatchResponse{Devices: devices}); err != nil {
				return err
			}
			told = devices
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookAgain):
		}
	}
}

// healthy counts the ports that are available.
func healthy(devices []*kubelet.Device) (count int) {
	for _, d := range devices {
		if d.Health == kubelet.Healthy {
			count++
		}
	}
	return count
}

// Allocate says what containers get with their ports: the list of the ports, and the folders of sockets. The
// ports are made later, together with the pod's network.
func (p *Plugin) Allocate(ctx context.Context, r *kubelet.AllocateRequest) (*kubelet.AllocateResponse, error) {
	answer := &kubelet.AllocateResponse{}
	for _, container := range r.ContainerRequests {
		gets := &kubelet.ContainerAllocateResponse{}
		for i, id := range container.DevicesIds {
			at := slices.IndexFunc(p.Ports, func(p port.Port) bool { return p.Name == id })
			if at < 0 {
				return nil, fmt.Errorf("the node no longer has port %s", id)
			}
			reserved, err := p.Keeper.Reserve(ctx, p.Ports[at])
			if err != nil {
				return nil, err
			}
			if i == 0 { // the file of each port leads to the list of the whole pod
				gets.Mounts = append(gets.Mounts, &kubelet.Mount{HostPath: reserved.File, ContainerPath: port.PortsFile, ReadOnly: true})
			}
			if p.Ports[at].IsSocket() {
				gets.Mounts = append(gets.Mounts, &kubelet.Mount{HostPath: reserved.Socket, ContainerPath: port.MountOf(id), ReadOnly: !p.Ports[at].PodListens()})
			}
		}
		answer.ContainerResponses = append(answer.ContainerResponses, gets)
	}
	return answer, nil
}
