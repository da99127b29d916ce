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

// Plugin serves the kubelet with one resource.
type Plugin struct {
	kubelet.UnimplementedDevicePluginServer
	Resource
	Keeper port.Keeper
	// Folder is the kubelet's for device plugins: its own socket is there, and plugins' are.
	Folder string
	// Look says which devices there are now; Resource.Devices does.
	Look func(context.Context) []*kubelet.Device
}

// lookAgain is how often it is looked whether the ports' parent is there, and whether the kubelet was
// started again.
const lookAgain = 5 * time.Second

func (p *Plugin) socket() string { return "nines-" + p.Name + ".sock" }

// Run serves the kubelet until ctx ends. A kubelet that starts removes all sockets of plugins, and wants
// them to register again.
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

// serve serves one life of the kubelet.
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
	server.Stop() // ListAndWatch would keep a graceful one from its end
	if stopped := <-served; stopped != nil && !errors.Is(stopped, grpc.ErrServerStopped) {
		err = errors.Join(err, stopped)
	}
	return err
}

// register tells the kubelet of the plugin.
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

// GetDevicePluginOptions says that no other calls are needed.
func (p *Plugin) GetDevicePluginOptions(context.Context, *kubelet.Empty) (*kubelet.DevicePluginOptions, error) {
	return &kubelet.DevicePluginOptions{}, nil
}

// ListAndWatch tells the ports, and again when one of them has changed.
func (p *Plugin) ListAndWatch(_ *kubelet.Empty, stream grpc.ServerStreamingServer[kubelet.ListAndWatchResponse]) error {
	ctx := stream.Context()
	var told []*kubelet.Device
	for {
		devices := p.Look(ctx)
		if !slices.EqualFunc(devices, told, func(a, b *kubelet.Device) bool { return proto.Equal(a, b) }) {
			slog.Info("told", "resource", Domain+p.Name, "healthy", healthy(devices), "of", len(devices))
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

// healthy is how many ports can be had.
func healthy(devices []*kubelet.Device) (count int) {
	for _, d := range devices {
		if d.Health == kubelet.Healthy {
			count++
		}
	}
	return count
}

// Allocate says what containers get with their ports: what they see of them, and the folders of sockets.
// The port is made when the pod's network is.
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
			if i == 0 { // each of them leads to the file of the whole pod
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
