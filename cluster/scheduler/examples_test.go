package scheduler

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containernetworking/cni/libcni"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/dynamic-resource-allocation/cel"
	"sigs.k8s.io/yaml"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/nodefit"
	"nines.dev/nines/cluster/request"
)

// The examples are read as users apply them: no unknown field, a latency request that is understood, figures
// that are sound.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/cluster/manifests/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			example(t, file, document)
		}
	}
}

func example(t *testing.T, file string, document []byte) {
	t.Helper()
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(document, &kind); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	into := map[string]any{
		"Namespace": &corev1.Namespace{}, "Pod": &corev1.Pod{}, "Deployment": &appsv1.Deployment{}, "NodeLatency": &v1alpha1.NodeLatency{},
		"ResourceClaim": &resourcev1.ResourceClaim{}, "ResourceClaimTemplate": &resourcev1.ResourceClaimTemplate{}, "NetworkAttachmentDefinition": &attachment{},
	}[kind.Kind]
	if into == nil {
		t.Fatalf("%s has an object of kind %q", file, kind.Kind)
	}
	if err := yaml.UnmarshalStrict(document, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	switch object := into.(type) {
	case *resourcev1.ResourceClaimTemplate:
		chooses(t, file, object.Spec.Spec)
	case *corev1.Pod:
		if len(object.Spec.ResourceClaims) > 0 || object.Annotations["k8s.v1.cni.cncf.io/networks"] != "" {
			return // it asks for a port, which may be all
		}
		requested(t, file, object.Name, object.Annotations)
	case *appsv1.Deployment:
		requested(t, file, object.Name, object.Spec.Template.Annotations)
	case *attachment:
		if _, err := libcni.NetworkPluginConfFromBytes([]byte(object.Spec.Config)); err != nil {
			t.Errorf("%s: %s: %v", file, object.Name, err)
		}
	case *v1alpha1.NodeLatency:
		for _, f := range nodefit.Read(object.Figures) {
			if f.StateAt(f.MeasuredAt.Add(time.Minute)) != nodefit.Fresh {
				t.Errorf("%s: %s of %s is unusable: %s", file, f.Tier, object.Name, f.Fault)
			}
		}
	}
}

// attachment is Multus's NetworkAttachmentDefinition.
type attachment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Config string `json:"config"`
	} `json:"spec"`
}

// chooses fails for an expression that the scheduler would refuse.
func chooses(t *testing.T, file string, spec resourcev1.ResourceClaimSpec) {
	t.Helper()
	var selectors []resourcev1.DeviceSelector
	for _, r := range spec.Devices.Requests {
		if r.Exactly != nil {
			selectors = append(selectors, r.Exactly.Selectors...)
		}
		for _, alternative := range r.FirstAvailable {
			selectors = append(selectors, alternative.Selectors...)
		}
	}
	for _, s := range selectors {
		if compiled := cel.GetCompiler(cel.Features{}).CompileCELExpression(s.CEL.Expression, cel.Options{}); compiled.Error != nil {
			t.Errorf("%s: %s: %v", file, s.CEL.Expression, compiled.Error)
		}
	}
}

func requested(t *testing.T, file, name string, annotations map[string]string) {
	t.Helper()
	r, err := request.Of(annotations)
	if err != nil {
		t.Errorf("%s: %s: %v", file, name, err)
	}
	if ordinary := strings.HasPrefix(name, "management"); ordinary != (r == nil) {
		t.Errorf("%s: %s has the request %v", file, name, r)
	}
}
