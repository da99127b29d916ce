package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"nines.dev/nines/cluster/scheduler/controltest"
	"nines.dev/nines/test/labtest"
)

// The scene of these tests: three pods that request a latency and claim a device each, and two
// devices, each on a node of its own that is fast enough.
const scenePods, sceneDevices = 3, 2

// sceneFault is what goes wrong at a step of the scheduler.
type sceneFault struct {
	name string
	act  controltest.Act
	// mend is how the cluster comes to itself; nil if by itself.
	mend func(*testing.T)
	// short are the kinds of step of the short form, each at a moment; the long form has all.
	short []scenePoint
	// keepsClaims is false where a claim goes, and with it a pod's place.
	keepsClaims bool
}

// scenePoint is the n-th step of a kind.
type scenePoint struct {
	kind string
	nth  int
	when controltest.Moment
}

// The steps without which no pod with a claim is bound: they are in every scene.
const (
	stepAllocate = "PUT resourceclaims/status"
	stepBind     = "POST pods/binding"
)

// steps has the scheduler and the API server killed, and claims deleted, at each step of placing
// pods: before it, and after it with nobody told. No pod is lost, and no device in two claims.
func (p plane) steps(t *testing.T) {
	p.fastPortClass(t)
	defer func() {
		p.Through(nil)
		p.clearClaims(t)
		p.StartScheduler(t)
	}()
	var all []scenePoint
	t.Run("nothing goes wrong", func(t *testing.T) {
		gate := p.scene(t)
		p.LaunchScheduler(t)
		p.settle(t, scenePods, sceneDevices, oneEach)
		p.KillScheduler() // what it still had to say is not said
		all = pointsOf(gate.Steps())
		for _, kind := range []string{stepAllocate, stepBind} {
			if !slices.Contains(all, scenePoint{kind, sceneDevices, controltest.After}) {
				t.Errorf("the scheduler has not done %d of %s, but %v", sceneDevices, kind, gate.Steps())
			}
		}
		p.eachDeviceOnce(t)
	})
	if t.Failed() {
		return
	}
	for _, fault := range []sceneFault{
		{
			name: "the scheduler is killed", keepsClaims: true,
			act:   func(controltest.Step) bool { p.KillScheduler(); return false },
			mend:  func(t *testing.T) { p.KillScheduler(); p.Through(nil); p.StartScheduler(t) },
			short: []scenePoint{{stepAllocate, 1, controltest.After}, {stepBind, 1, controltest.Before}, {stepBind, 2, controltest.After}},
		},
		{
			name: "the API server is killed", keepsClaims: true,
			act:   func(controltest.Step) bool { p.KillAPIServer(); return false },
			mend:  func(t *testing.T) { p.RestartAPIServer(t) },
			short: []scenePoint{{stepBind, 1, controltest.Before}, {stepBind, 1, controltest.After}},
		},
		{
			name:  "the pod's claim is deleted",
			act:   p.deleteClaim,
			short: []scenePoint{{stepAllocate, 1, controltest.Before}, {stepBind, 1, controltest.Before}},
		},
	} {
		points := fault.short
		if labtest.Long() {
			points = all
		}
		reached := 0
		for _, point := range points {
			t.Run(fmt.Sprintf("%s %s %s %d", fault.name, point.when, point.kind, point.nth), func(t *testing.T) {
				if p.faultAt(t, fault, point) {
					reached++
				}
			})
		}
		t.Logf("%s at %d of %d points", fault.name, reached, len(points))
	}
}

// faultAt runs the scene with a fault at a point, and reports whether it came to that.
func (p plane) faultAt(t *testing.T, fault sceneFault, point scenePoint) (reached bool) {
	gate := p.scene(t)
	acted := gate.At(point.kind, point.nth, point.when, fault.act)
	p.LaunchScheduler(t)
	// Events, and what is said of a pod in the meantime, do not come in each scene.
	must := point.kind == stepAllocate || point.kind == stepBind
	controltest.Eventually(t, "the step is reached", func(ctx context.Context) error {
		select {
		case <-acted:
			reached = true
			return nil
		default:
		}
		if must {
			return fmt.Errorf("not among %v", gate.Steps())
		}
		return p.settled(ctx, scenePods, sceneDevices, oneEach)
	})
	if fault.mend != nil {
		fault.mend(t)
	}
	if fault.keepsClaims {
		p.settle(t, scenePods, sceneDevices, oneEach)
	} else {
		p.decided(t, scenePods, oneEach)
	}
	p.eachDeviceOnce(t)
	return reached
}

// scene makes the nodes, devices and pods, behind a gate, for a scheduler that is started then.
func (p plane) scene(t *testing.T) *controltest.Gate {
	t.Helper()
	gate := p.behindGate(t)
	for i := range sceneDevices {
		node := fmt.Sprintf("s%d", i)
		p.fastPorts(t, node, 1)
		p.measure(t, node, figureOf("sriov", "", 50))
	}
	for i := range scenePods {
		if err := p.podWithClaim(t.Context(), fmt.Sprintf("s%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	return gate
}

// behindGate empties the cluster for a scheduler that reaches it through a gate.
func (p plane) behindGate(t *testing.T) *controltest.Gate {
	t.Helper()
	p.KillScheduler()
	p.clearClaims(t)
	p.Clear(t)
	gate := p.NewGate(t)
	p.Through(gate)
	t.Cleanup(p.KillScheduler) // before the gate is closed
	return gate
}

func oneEach(string) int { return 1 }

// pointsOf are both moments of each step.
func pointsOf(steps []controltest.Step) []scenePoint {
	var points []scenePoint
	nth := map[string]int{}
	for _, step := range steps {
		nth[step.Kind]++
		for _, when := range []controltest.Moment{controltest.Before, controltest.After} {
			points = append(points, scenePoint{step.Kind, nth[step.Kind], when})
		}
	}
	return points
}

// deleteClaim deletes the claim of the pod that a step is about: they have the same name. Steps that
// name neither are left alone.
func (p plane) deleteClaim(step controltest.Step) (goesOn bool) {
	if step.Name != "" {
		// One that is in use is only marked, until nobody uses it.
		_ = p.Kube.ResourceV1().ResourceClaims("default").Delete(context.Background(), step.Name, metav1.DeleteOptions{})
	}
	return true
}

// clearClaims removes all claims, also those that are protected as in use: there is no controller
// here that would do so.
func (p plane) clearClaims(t *testing.T) {
	t.Helper()
	claims := p.Kube.ResourceV1().ResourceClaims("default")
	controltest.Eventually(t, "the claims are gone", func(ctx context.Context) error {
		list, err := claims.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, claim := range list.Items {
			err = errors.Join(err, absent(claims.Delete(ctx, claim.Name, metav1.DeleteOptions{})))
			_, freed := claims.Patch(ctx, claim.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			err = errors.Join(err, absent(freed))
		}
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%d claims are there", len(list.Items))
		}
		return err
	})
}

func absent(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
