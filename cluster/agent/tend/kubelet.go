package tend

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	kubelet "k8s.io/kubelet/pkg/apis/podresources/v1"

	"nines.dev/nines/kernel/tasks"
)

// podName identifies a pod in the kubelet's answer.
type podName struct{ Namespace, Name string }

// kubeletPatience limits a call to the kubelet.
const kubeletPatience = 10 * time.Second

// ownCPUs asks the kubelet, through its pod-resources socket, for the exclusive CPUs of containers: those that
// its static CPU manager assigned.
func ownCPUs(ctx context.Context, socket string) (map[podName]tasks.Set, error) {
	ctx, cancel := context.WithTimeout(ctx, kubeletPatience)
	defer cancel()
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // the answer is complete
	answer, err := kubelet.NewPodResourcesListerClient(conn).List(ctx, &kubelet.ListPodResourcesRequest{})
	if err != nil {
		return nil, fmt.Errorf("ask the kubelet at %s for the exclusive CPUs of pods: %w", socket, err)
	}
	own := map[podName]tasks.Set{}
	for _, pod := range answer.GetPodResources() {
		name := podName{pod.GetNamespace(), pod.GetName()}
		for _, container := range pod.GetContainers() {
			var cpus tasks.Set
			for _, id := range container.GetCpuIds() {
				cpus = append(cpus, int(id))
			}
			slices.Sort(cpus)
			own[name] = own[name].Plus(cpus)
		}
	}
	return own, nil
}
