package registration_test

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"nines.dev/nines/cluster/registration"
)

// TestANodeThatRegistersAgain has another identity, and what follows it is told: also when the watch was broken off
// meanwhile, so that only the change is seen.
func TestANodeThatRegistersAgain(t *testing.T) {
	object := func(uid types.UID) *v1.Node { return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: uid}} }
	kube := fake.NewClientset(object("first"))
	nodes := kube.CoreV1().Nodes()
	followed, err := registration.Follow(t.Context(), kube, "n1")
	if err != nil {
		t.Fatal(err)
	}
	changed, err := followed.Changes()
	if err != nil {
		t.Fatal(err)
	}
	await := func(uid types.UID) {
		t.Helper()
		for followed.UID() != uid {
			select {
			case <-changed:
			case <-time.After(time.Minute):
				t.Fatalf("it is %q, not %q", followed.UID(), uid)
			}
		}
	}
	await("first")
	if err := nodes.Delete(t.Context(), "n1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await("")
	if _, err := nodes.Create(t.Context(), object("second"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await("second")
	if _, err := nodes.Update(t.Context(), object("third"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await("third")
}
