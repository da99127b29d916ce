package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nines.dev/nines/cluster/agent/discovery"
	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/host"
)

// publish replaces the node's figures. Only the node's agent writes them, so a conflict comes from the
// previous agent, and the next round writes again.
func (a *Agent) publish(ctx context.Context, node *v1.Node, figures []v1alpha1.Figure) error {
	owner := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}} // deleted with the node
	object, err := a.Objects.Get(ctx, node.Name)
	switch {
	case apierrors.IsNotFound(err):
		if len(figures) == 0 {
			return nil
		}
		object = &v1alpha1.NodeLatency{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind.Kind},
			ObjectMeta: metav1.ObjectMeta{Name: node.Name, OwnerReferences: owner},
			Figures:    figures,
		}
		_, err = a.Objects.Create(ctx, object)
	case err == nil:
		object.OwnerReferences = owner // of a node that has registered again
		// A figure of a previous agent stays valid as long as it says, unless a new one replaces it.
		object.Figures = bounded(append(figures, others(object.Figures, figures)...))
		_, err = a.Objects.Update(ctx, object)
	}
	if err != nil {
		return fmt.Errorf("publish the figures of node %s: %w", node.Name, err)
	}
	return nil
}

// others returns the old figures that are still valid and have no successor. A figure dated in the future was
// published before the clock was set back: once the clock reaches that time it would count again, although it
// is too old.
func others(old, successors []v1alpha1.Figure) []v1alpha1.Figure {
	now := metav1.Now()
	var kept []v1alpha1.Figure
	for _, f := range old {
		replaced := false
		for _, next := range successors {
			replaced = replaced || next.Tier == f.Tier && next.Peer == f.Peer
		}
		if !replaced && now.Before(&f.ValidUntil) && !now.Before(&f.MeasuredAt) {
			kept = append(kept, f)
		}
	}
	return kept
}

// mostFigures limits an object: a figure takes some kB, and etcd refuses objects of more than 1.5 MB
// (--max-request-bytes).
const mostFigures = 128

// bounded keeps all figures within the node, and the newest of those to other nodes.
func bounded(figures []v1alpha1.Figure) []v1alpha1.Figure {
	slices.SortStableFunc(figures, func(a, b v1alpha1.Figure) int {
		switch {
		case (a.Peer == "") == (b.Peer == ""):
		case a.Peer == "":
			return -1
		default:
			return 1
		}
		if a.Peer == "" {
			return 0
		}
		return b.MeasuredAt.Compare(a.MeasuredAt.Time)
	})
	return figures[:min(len(figures), mostFigures)]
}

// The labels of a node. labelThesisVFs and labelThesisOVS are those of the thesis that started this project,
// for pods that were written for it.
const (
	labelTier      = "tier.nines.dev/"
	labelThesisVFs = "dpdk"
	labelThesisOVS = "ovs-dpdk"
	labelIsolated  = "nines.dev/isolated-cpus"
	labelKernelRT  = "nines.dev/kernel-rt"
	labelHugepages = "nines.dev/hugepages"
)

// Sets reports whether an agent sets a label of its node.
func Sets(label string) bool {
	return strings.HasPrefix(label, labelTier) ||
		slices.Contains([]string{labelThesisVFs, labelThesisOVS, labelIsolated, labelKernelRT, labelHugepages}, label)
}

// Labels returns the labels of a node with this inventory. It is pure. A label that the node lacks has an
// empty value, which means: remove it.
//
// The inventory lists the programs that the agent could start, and ovs is what runs on the node: the agent's
// container has no Open vSwitch programs. tiers has for each tier whether the node has it.
func Labels(inv *host.Inventory, ovs *discovery.OVS, tiers map[string]bool) map[string]string {
	labels := map[string]string{labelThesisVFs: "", labelThesisOVS: "", labelIsolated: "", labelKernelRT: "", labelHugepages: ""}
	for name, has := range tiers {
		labels[labelTier+name] = ""
		if has {
			labels[labelTier+name] = "true"
		}
	}
	vfs := 0
	for _, nic := range inv.NICs {
		// A card without a cable carries nothing; operstate of Documentation/ABI/testing/sysfs-class-net.
		if !nic.Virtual && nic.State == "up" {
			vfs += nic.NumVFs
		}
	}
	if vfs > 0 {
		labels[labelThesisVFs] = fmt.Sprint(vfs)
	}
	if inv.Feature(host.FeatureOVSDPDK).State == host.StateYes || ovs != nil && ovs.DPDK {
		labels[labelThesisOVS] = "true"
	}
	isolated := 0
	for _, cpu := range inv.CPUs {
		if cpu.Isolated {
			isolated++
		}
	}
	if isolated > 0 {
		labels[labelIsolated] = fmt.Sprint(isolated)
	}
	if inv.Kernel.RealTime {
		labels[labelKernelRT] = "true"
	}
	for _, h := range inv.Hugepages {
		if h.Total > 0 {
			labels[labelHugepages] = "true"
		}
	}
	return labels
}

// shown returns for each tier of the agent whether the node has it: the agent can create it, and a trial has
// counted, lately or before. If every trial fails, the node does not have the tier.
func (a *Agent) shown(node *v1.Node, offered []measure.Tier, figures []v1alpha1.Figure) map[string]bool {
	shown := map[string]bool{}
	for _, t := range a.Tiers {
		shown[t.Name()] = false
	}
	for _, t := range offered {
		shown[t.Name()] = node.Labels[labelTier+t.Name()] != "" || slices.ContainsFunc(figures, func(f v1alpha1.Figure) bool {
			return f.Tier == t.Name() && f.Peer == "" && f.Verdict != v1alpha1.Invalid
		})
	}
	return shown
}

// label sets the labels that differ.
func (a *Agent) label(ctx context.Context, node *v1.Node, wanted map[string]string) error {
	changes := map[string]any{}
	for name, value := range wanted {
		now, there := node.Labels[name]
		switch {
		case value == "" && there:
			changes[name] = nil
		case value != "" && now != value:
			changes[name] = value
		}
	}
	if len(changes) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": changes}})
	if err == nil {
		_, err = a.Kube.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		return fmt.Errorf("label node %s: %w", node.Name, err)
	}
	return nil
}
