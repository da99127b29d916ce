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
	"nines.dev/nines/host"
	"nines.dev/nines/host/doctor"
	"nines.dev/nines/terminal"
)

// ConditionFit is the node's condition that nines doctor finds nothing there that costs latency.
const ConditionFit v1.NodeConditionType = "FitForLatency"

// Discovery tells the cluster what a node has: at its start, when a network card changes, and in
// intervals. It writes only what has changed.
type Discovery struct {
	// Node is the node's name.
	Node    string
	Kube    kubernetes.Interface
	NFD     *discovery.NFD
	Metrics *Metrics
	// OVS is the folder of Open vSwitch's sockets.
	OVS      string
	Interval time.Duration

	steady discovery.Steady
	ovs    atomic.Pointer[discovery.OVS]
}

// A change of a card is looked at after it had time to settle, and a second time before it is told.
const (
	settle    = 2 * time.Second
	lookAgain = 10 * time.Second
)

// Run tells the cluster until ctx ends. What goes wrong is logged and counted, and tried again.
func (d *Discovery) Run(ctx context.Context) {
	changed := discovery.Links(ctx)
	look := time.NewTimer(0)
	defer look.Stop()
	next := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			// A card that changes all the time does not put the look off.
			if soon := time.Now().Add(settle); soon.Before(next) {
				next = soon
				look.Reset(settle)
			}
		case <-look.C:
			pause := d.Interval
			told, err := d.look(ctx)
			if err != nil && ctx.Err() == nil {
				d.Metrics.lookFailures.Inc()
				slog.Error("look at the node", "error", err)
			}
			if !told || err != nil {
				pause = min(pause, lookAgain)
			}
			next = time.Now().Add(pause)
			look.Reset(pause)
		}
	}
}

// Switch is the node's Open vSwitch, as it was last seen; nil if there is none.
func (d *Discovery) Switch() *discovery.OVS {
	if d == nil {
		return nil
	}
	return d.ovs.Load()
}

// look looks at the node, and tells what it has if that is certain.
func (d *Discovery) look(ctx context.Context) (told bool, err error) {
	found, err := discovery.Read(ctx, d.OVS)
	if err != nil {
		return false, err
	}
	return d.tell(ctx, found)
}

// tell tells what was found, if that is certain.
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
		slog.Info("told Node Feature Discovery what the node has")
	}
	return err == nil, err
}

// condition sets the node's condition where it differs.
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
		return fmt.Errorf("set the condition %s of node %s: %w", next.Type, node.Name, err)
	}
	return nil
}

// Fit is the node's condition by the doctor's report, without its times. It is pure.
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
	next.Reason, next.Message = "OnlyNotes", strings.Join(parts, "; ")+"; nines doctor on the node tells why, and what helps"
	if report.Verdict != doctor.VerdictFit {
		next.Status, next.Reason = v1.ConditionFalse, "Findings"
	}
	return next
}
