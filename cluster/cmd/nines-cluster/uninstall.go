package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"nines.dev/nines/cluster/agent"
	"nines.dev/nines/cluster/agent/discovery"
	"nines.dev/nines/cluster/client"
	"nines.dev/nines/cluster/dra"
	"nines.dev/nines/terminal"
)

func newUninstallCommand() *cobra.Command {
	var access onNode
	var dry bool
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove from a cluster what the agents and drivers have written, after their manifests",
		Long: `Remove from a cluster what agents and drivers of ports have written and what stays without
them: labels and conditions of nodes, ResourceSlices, NodeLatency objects, and the agents'
NodeFeature objects for Node Feature Discovery. Delete the manifests first: while an agent or
a driver runs, it writes them again, so the command refuses.`,
		Example: `  kubectl delete -k cluster/deploy/ports -k cluster/deploy
  nines cluster uninstall --kubeconfig ~/.kube/config --dry-run
  nines cluster uninstall --kubeconfig ~/.kube/config`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			config, kube, objects, err := access.clients()
			if err != nil {
				return err
			}
			nfd, err := discovery.NewNFD(config, metav1.NamespaceAll)
			if err != nil {
				return err
			}
			say := func(what string) { terminal.Println(c.OutOrStdout(), what) }
			return uninstall{kube, objects, nfd, dry, say}.run(c.Context())
		},
	}
	c.Flags().StringVar(&access.kubeconfig, "kubeconfig", "", "how to reach the API server (default: as a pod does)")
	c.Flags().BoolVar(&dry, "dry-run", false, "only print what would be removed")
	return c
}

// uninstall removes what the programs have written.
type uninstall struct {
	kube    kubernetes.Interface
	objects *client.Client
	nfd     *discovery.NFD
	dry     bool
	say     func(string)
}

func (u uninstall) run(ctx context.Context) error {
	for _, app := range []string{"nines-agent", "nines-ports"} {
		pods, err := u.kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
		if err != nil {
			return fmt.Errorf("list the pods of %s: %w", app, err)
		}
		if len(pods.Items) > 0 && !u.dry {
			p := pods.Items[0]
			return fmt.Errorf("pod %s/%s still runs, and would write again what is removed: delete the manifests of %s first", p.Namespace, p.Name, app)
		}
	}
	nodes, err := u.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	for i := range nodes.Items {
		if err := u.clear(ctx, &nodes.Items[i]); err != nil {
			return err
		}
	}
	return errors.Join(u.slices(ctx), u.figures(ctx), u.features(ctx))
}

// clear removes the labels and conditions of a node.
func (u uninstall) clear(ctx context.Context, node *v1.Node) error {
	labels, conditions := map[string]any{}, []map[string]string{}
	var names []string
	for name := range node.Labels {
		if agent.Sets(name) {
			labels[name], names = nil, append(names, name)
		}
	}
	slices.Sort(names)
	for _, c := range node.Status.Conditions {
		if c.Type == agent.ConditionHolds || c.Type == agent.ConditionFit {
			conditions = append(conditions, map[string]string{"$patch": "delete", "type": string(c.Type)})
			names = append(names, "condition "+string(c.Type))
		}
	}
	if len(names) == 0 {
		return nil
	}
	u.say(fmt.Sprintf("node %s: %s", node.Name, strings.Join(names, ", ")))
	if u.dry {
		return nil
	}
	for patch, subresources := range map[string][]string{
		text(map[string]any{"metadata": map[string]any{"labels": labels}}):       nil,
		text(map[string]any{"status": map[string]any{"conditions": conditions}}): {"status"},
	} {
		if _, err := u.kube.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...); err != nil {
			return fmt.Errorf("clear node %s: %w", node.Name, err)
		}
	}
	return nil
}

// text writes a patch of plain values, which JSON has.
func text(patch map[string]any) string {
	out, _ := json.Marshal(patch)
	return string(out)
}

// slices removes the ports from the cluster.
func (u uninstall) slices(ctx context.Context) error {
	all := u.kube.ResourceV1().ResourceSlices()
	list, err := all.List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(resource.ResourceSliceSelectorDriver, dra.DriverName).String()})
	if apierrors.IsNotFound(err) {
		return nil // the cluster has no dynamic resource allocation
	}
	if err != nil {
		return fmt.Errorf("list the slices of %s: %w", dra.DriverName, err)
	}
	for _, s := range list.Items {
		u.say("resourceslice " + s.Name)
		if u.dry {
			continue
		}
		if err := all.Delete(ctx, s.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete slice %s: %w", s.Name, err)
		}
	}
	return nil
}

// figures removes what was measured.
func (u uninstall) figures(ctx context.Context) error {
	list, err := u.objects.List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil // the definition is gone, and with it all objects
	}
	if err != nil {
		return fmt.Errorf("list the figures: %w", err)
	}
	for _, f := range list.Items {
		u.say("nodelatency " + f.Name)
		if u.dry {
			continue
		}
		if err := u.objects.Delete(ctx, f.Name); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete the figures of node %s: %w", f.Name, err)
		}
	}
	return nil
}

// features removes what the agents have told Node Feature Discovery. Its master then removes the labels that it has made
// of that.
func (u uninstall) features(ctx context.Context) error {
	own, err := u.nfd.Own(ctx)
	if err != nil {
		return err
	}
	for i := range own {
		u.say(fmt.Sprintf("nodefeature %s/%s", own[i].Namespace, own[i].Name))
		if u.dry {
			continue
		}
		if err := u.nfd.Remove(ctx, &own[i]); err != nil {
			return err
		}
	}
	return nil
}
