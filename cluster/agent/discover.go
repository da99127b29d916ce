package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"nines.dev/nines/cluster/agent/discovery"
	"nines.dev/nines/cluster/registration"
	"nines.dev/nines/host"
	"nines.dev/nines/host/doctor"
	"nines.dev/nines/terminal"
)

// ConditionFit is the node condition that nines doctor finds nothing on the node that costs latency.
const ConditionFit v1.NodeConditionType = "FitForLatency"

// Discovery reports to the cluster what a node has: when it starts, when a network card changes, and at
// intervals. It writes only changes.
type Discovery struct {
	// Node is the node's name.
	Node    string
	Kube    kubernetes.Interface
	NFD     *discovery.NFD
	Metrics *Metrics
	// OVS is the folder of Open vSwitch's sockets.
	OVS      string
	Interval time.Duration
	// Registered is the node's object: its conditions and the NodeFeature go with it; nil if nobody follows it.
	Registered *registration.Node

	steady discovery.Steady
	ovs    atomic.Pointer[discovery.OVS]
}

// A changed card gets time to settle before it is read, and is read a second time before the change is reported.
const (
	settle    = 2 * time.Second
	lookAgain = 10 * time.Second
)

// Run reports to the cluster until ctx ends. It logs and counts errors, and tries again.
func (d *Discovery) Run(ctx context.Context) {
	changed := discovery.Links(ctx, nil)
	registered, err := d.Registered.Changes()
	if err != nil {
		slog.Error("cannot follow the node's registration", "error", err) // happens only if the informer has ended
	}
	look := time.NewTimer(0)
	defer look.Stop()
	next := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			// A card that keeps changing does not postpone the next check.
			if soon := time.Now().Add(settle); soon.Before(next) {
				next = soon
				look.Reset(settle)
			}
		case <-registered:
			if d.Registered.UID() == "" {
				continue // there is no object to write to
			}
			next = time.Now()
			look.Reset(0)
		case <-look.C:
			pause := d.Interval
			told, err := d.look(ctx)
			if err != nil && ctx.Err() == nil {
				d.Metrics.lookFailures.Inc()
				slog.Error("node discovery failed", "error", err)
			}
			if !told || err != nil {
				pause = min(pause, lookAgain)
			}
			next = time.Now().Add(pause)
			look.Reset(pause)
		}
	}
}

// Switch returns the node's Open vSwitch as it was last seen; nil if there is none.
func (d *Discovery) Switch() *discovery.OVS {
	if d == nil {
		return nil
	}
	return d.ovs.Load()
}

// look reads what the node has, and reports it once it is certain.
func (d *Discovery) look(ctx context.Context) (told bool, err error) {
	found, err := discovery.Read(ctx, d.OVS)
	if err != nil {
		return false, err
	}
	return d.tell(ctx, found)
}

// tell reports what was found, once it is certain.
func (d *Discovery) tell(ctx context.Context, found discovery.Node) (told bool, err error) {
	d.ovs.Store(found.OVS)
	d.Metrics.examine(found.Report)
	spec, fit := discovery.Features(found), Fit(found.Report)
	text, err := json.Marshal([]any{spec, fit})
	if err != nil {
		return false, err
	}
	if !d.steady.Offer(string(text)) {
		return false, nil
	}
	node, err := d.Kube.CoreV1().Nodes().Get(ctx, d.Node, metav1.GetOptions{})
	if err != nil {
		return false, fmt.Errorf("read node %s: %w", d.Node, err)
	}
	if err := d.condition(ctx, node, fit); err != nil {
		return false, err
	}
	written, err := d.NFD.Publish(ctx, node, spec)
	if written {
		slog.Info("published the node's features for Node Feature Discovery")
	}
	return err == nil, err
}

// condition sets the node condition if it differs.
func (d *Discovery) condition(ctx context.Context, node *v1.Node, next v1.NodeCondition) error {
	at := slices.IndexFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == next.Type })
	next.LastTransitionTime = metav1.Now()
	next.LastHeartbeatTime = next.LastTransitionTime
	if at >= 0 {
		before := node.Status.Conditions[at]
		if before.Status == next.Status && before.Reason == next.Reason && before.Message == next.Message {
			return nil
		}
		if before.Status == next.Status {
			next.LastTransitionTime = before.LastTransitionTime
		}
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []v1.NodeCondition{next}}})
	if err == nil {
		_, err = d.Kube.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	if err != nil {
		return fmt.Errorf("set condition %s of node %s: %w", next.Type, node.Name, err)
	}
	return nil
}

// Fit returns the node condition for the doctor's report, without its times. It is pure.
func Fit(report *doctor.Report) v1.NodeCondition {
	next := v1.NodeCondition{
		Type: ConditionFit, Status: v1.ConditionTrue, Reason: "NothingFound", Message: "nines doctor finds nothing that costs latency",
	}
	var parts []string
	for _, severity := range []host.Severity{host.SeverityError, host.SeverityWarning, host.SeverityNote} {
		var ids []string
		for _, f := range report.Findings {
			if f.Severity == severity {
				ids = append(ids, f.ID)
			}
		}
		if len(ids) > 0 {
			parts = append(parts, fmt.Sprintf("%s: %s", terminal.Count(len(ids), string(severity)), strings.Join(ids, ", ")))
		}
	}
	if len(parts) == 0 {
		return next
	}
	next.Reason, next.Message = "OnlyNotes", strings.Join(parts, "; ")+"; run nines doctor on the node for causes and remedies"
	if report.Verdict != doctor.VerdictFit {
		next.Status, next.Reason = v1.ConditionFalse, "Findings"
	}
	return next
}
