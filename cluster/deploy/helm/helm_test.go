package helm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	sigsyaml "sigs.k8s.io/yaml"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/deploy"
	"nines.dev/nines/cluster/dra"
	"nines.dev/nines/cluster/scheduler/controltest"
	"nines.dev/nines/test/golden"
)

const (
	manifests = ".."
	chart     = "../chart"
)

// TestTheChartIsMadeOfTheManifests holds the files of the chart to the manifests; -update writes them.
func TestTheChartIsMadeOfTheManifests(t *testing.T) {
	first, err := os.ReadFile(filepath.Join(manifests, "scheduler/config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := Second(first)
	if err != nil {
		t.Fatal(err)
	}
	// Before the files that are made of it.
	golden.Equal(t, filepath.Join(manifests, "second/config.yaml"), second)
	files, err := Files(os.DirFS(manifests), v1alpha1.CRD)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		golden.Equal(t, filepath.Join(chart, name), files[name])
	}
	for _, folder := range []string{"templates", "crds"} {
		entries, err := os.ReadDir(filepath.Join(chart, folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			name := folder + "/" + entry.Name()
			if _, made := files[name]; !made && filepath.Ext(name) == ".yaml" {
				t.Errorf("%s is made of no manifest: remove it", name)
			}
		}
	}
}

func TestAManifestThatHasChangedIsNoticed(t *testing.T) {
	if _, err := apply("kind: DaemonSet\n", []change{namespace}); err == nil || !strings.Contains(err.Error(), `no "namespace: nines"`) {
		t.Errorf("%v", err)
	}
}

// render is what Helm makes of the chart, with the definitions that it applies before.
func render(t *testing.T, namespace string, values map[string]any) ([]byte, error) {
	t.Helper()
	loaded, err := loader.LoadDir(chart)
	if err != nil {
		t.Fatal(err)
	}
	if err := loaded.Validate(); err != nil {
		t.Fatal(err)
	}
	// As from a file: JSON's numbers are floats.
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]any{}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(loaded, read, chartutil.ReleaseOptions{Name: "nines", Namespace: namespace, IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Engine{Strict: true}.Render(loaded, all)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, definition := range loaded.CRDObjects() {
		fmt.Fprintf(&out, "%s\n---\n", definition.File.Data)
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if filepath.Ext(name) == ".yaml" {
			fmt.Fprintf(&out, "%s\n---\n", rendered[name])
		}
	}
	return out.Bytes(), nil
}

// kustomize is what kubectl apply -k applies of a folder.
func kustomize(t *testing.T, folder string) []byte {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatal(err)
	}
	text, err := made.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// objects reads a stream of objects, by kind, namespace and name.
func objects(t *testing.T, text []byte) map[string]*unstructured.Unstructured {
	t.Helper()
	all := map[string]*unstructured.Unstructured{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if object.Object == nil {
			continue
		}
		name := fmt.Sprintf("%s %s/%s", object.GroupVersionKind(), object.GetNamespace(), object.GetName())
		if all[name] != nil {
			t.Errorf("%s is listed twice", name)
		}
		all[name] = object
	}
}

// TestHelmAndKustomizeApplyTheSame: with the values as they are, and with the second scheduler. The
// namespace is the one thing that Helm's users make themselves (--create-namespace).
func TestHelmAndKustomizeApplyTheSame(t *testing.T) {
	for name, test := range map[string]struct {
		values  map[string]any
		folders []string
	}{
		"the agent":            {nil, []string{manifests}},
		"an agent that evicts": {map[string]any{"agent": map[string]any{"onBroken": "evict"}}, []string{manifests, filepath.Join(manifests, "evict")}},
		"the second scheduler": {map[string]any{"scheduler": map[string]any{"enabled": true}}, []string{manifests, filepath.Join(manifests, "second")}},
		"ports":                {map[string]any{"ports": map[string]any{"enabled": true, "ports": examplePorts(t)}}, []string{manifests, filepath.Join(manifests, "ports")}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := render(t, "nines", test.values)
			if err != nil {
				t.Fatal(err)
			}
			helms, wanted := objects(t, text), map[string]*unstructured.Unstructured{}
			for _, folder := range test.folders {
				maps.Copy(wanted, objects(t, kustomize(t, folder)))
			}
			const itself = "/v1, Kind=Namespace /nines"
			if wanted[itself] == nil {
				t.Errorf("kustomize makes no namespace: %v", slices.Sorted(maps.Keys(wanted)))
			}
			delete(wanted, itself)
			for _, all := range []map[string]*unstructured.Unstructured{wanted, helms} {
				readPorts(t, all["/v1, Kind=ConfigMap nines/nines-ports"])
			}
			if len(wanted) < 10 {
				t.Errorf("kustomize makes only %v", slices.Sorted(maps.Keys(wanted)))
			}
			if diff := cmp.Diff(wanted, helms); diff != "" {
				t.Errorf("-kustomize +helm:\n%s", diff)
			}
		})
	}
}

// examplePorts are those of the manifests.
func examplePorts(t *testing.T) any {
	t.Helper()
	config := typed[corev1.ConfigMap](t, kustomize(t, filepath.Join(manifests, "ports")), "ConfigMap", "nines-ports")
	var file struct {
		Ports []map[string]any `json:"ports"`
	}
	if err := sigsyaml.Unmarshal([]byte(config.Data["ports.yaml"]), &file); err != nil || len(file.Ports) < 3 {
		t.Fatalf("%v, %v", file, err)
	}
	return file.Ports
}

// readPorts replaces the text of a ports file by what it says: one text has comments.
func readPorts(t *testing.T, config *unstructured.Unstructured) {
	t.Helper()
	if config == nil {
		return
	}
	text, _, err := unstructured.NestedString(config.Object, "data", "ports.yaml")
	file := map[string]any{}
	if err := errors.Join(err, sigsyaml.Unmarshal([]byte(text), &file)); err != nil {
		t.Fatal(err)
	}
	config.Object["data"] = file
}

// TestALocalClusterHasWhatKustomizeApplies: nines cluster up --agent --ports.
func TestALocalClusterHasWhatKustomizeApplies(t *testing.T) {
	file, err := os.ReadFile(filepath.Join(manifests, "../../examples/cluster/nodes/ports.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ports, err := deploy.Ports(file)
	if err != nil {
		t.Fatal(err)
	}
	agent, err := deploy.Agent()
	if err != nil {
		t.Fatal(err)
	}
	const itself = "/v1, Kind=Namespace /nines"
	for name, test := range map[string]struct {
		text   []byte
		folder string
	}{
		"agent": {agent, "agent"},
		"ports": {ports, "ports"},
	} {
		local, wanted := objects(t, test.text), objects(t, kustomize(t, filepath.Join(manifests, test.folder)))
		if local[itself] == nil {
			t.Errorf("%s: there is no namespace", name)
		}
		delete(local, itself)
		delete(wanted, itself)
		delete(wanted, "apiextensions.k8s.io/v1, Kind=CustomResourceDefinition /nodelatencies.nines.dev") // there from the start
		for _, all := range []map[string]*unstructured.Unstructured{wanted, local} {
			readPorts(t, all["/v1, Kind=ConfigMap nines/nines-ports"])
		}
		if diff := cmp.Diff(wanted, local); diff != "" {
			t.Errorf("%s: -kustomize +local:\n%s", name, diff)
		}
	}
}

// typed reads an object strictly as what it is.
func typed[T any](t *testing.T, text []byte, kind, name string) *T {
	t.Helper()
	for _, object := range objects(t, text) {
		if object.GetKind() == kind && object.GetName() == name {
			into := new(T)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, into, true); err != nil {
				t.Fatal(err)
			}
			return into
		}
	}
	t.Fatalf("there is no %s %s in\n%s", kind, name, text)
	return nil
}

func TestValuesChangeWhatTheySay(t *testing.T) {
	text, err := render(t, "fast", map[string]any{
		"imagePullPolicy": "Always", "imagePullSecrets": []any{map[string]any{"name": "registry"}},
		"agent": map[string]any{
			"image": "example.org/nines:2", "nodeSelector": map[string]any{"role": "network"}, "tolerations": []any{},
			"tiers": []any{"veth", "memif"}, "interval": "10m", "duration": "2s", "rate": 20_000_000, "idle": 0, "arguments": []any{"--frame=128"},
			"budget":    map[string]any{"cpuADay": "1h30m", "packetsADay": 50_000_000},
			"resources": map[string]any{"limits": map[string]any{"memory": "1Gi"}},
		},
		"scheduler": map[string]any{
			"enabled": true, "name": "by-latency", "image": "example.org/scheduler@sha256:1", "replicas": 2,
			"nodeSelector": map[string]any{"role": "control"}, "tolerations": []any{map[string]any{"key": "control", "operator": "Exists"}},
			"resources": map[string]any{},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects(t, text) {
		if in := object.GetNamespace(); in != "" && in != "fast" && in != "kube-system" {
			t.Errorf("%s %s is in namespace %s", object.GetKind(), object.GetName(), in)
		}
	}
	if text := string(text); strings.Contains(text, "serviceaccount:nines:") || strings.Contains(text, "namespace: nines") {
		t.Errorf("a namespace is not the release's in\n%s", text)
	}
	agent := typed[appsv1.DaemonSet](t, text, "DaemonSet", "nines-agent").Spec.Template.Spec
	container := agent.Containers[0]
	wanted := []string{
		"agent", "--tiers=veth,memif", "--interval=10m", "--duration=2s", "--rate=20000000", "--idle=0", "--cpu-a-day=1h30m", "--packets-a-day=50000000", "--frame=128",
	}
	if !slices.Equal(container.Args, wanted) {
		t.Errorf("the agent's arguments are %q", container.Args)
	}
	if container.Image != "example.org/nines:2" || container.ImagePullPolicy != corev1.PullAlways || agent.NodeSelector["role"] != "network" ||
		len(agent.Tolerations) != 0 || agent.ImagePullSecrets[0].Name != "registry" || container.Resources.Limits.Memory().String() != "1Gi" || container.Resources.Requests == nil {
		t.Errorf("the agent is %+v", agent)
	}
	deployment := typed[appsv1.Deployment](t, text, "Deployment", "nines-scheduler").Spec
	pod := deployment.Template.Spec
	if *deployment.Replicas != 2 || pod.NodeSelector["role"] != "control" || pod.Tolerations[0].Key != "control" ||
		pod.ImagePullSecrets[0].Name != "registry" || pod.Containers[0].Image != "example.org/scheduler@sha256:1" {
		t.Errorf("the scheduler is %+v", deployment)
	}
	config := typed[corev1.ConfigMap](t, text, "ConfigMap", "nines-scheduler").Data["config.yaml"]
	if !strings.Contains(config, "schedulerName: by-latency\n") || !strings.Contains(config, "resourceNamespace: fast}") {
		t.Errorf("its configuration is\n%s", config)
	}
}

// TestARealClusterTakesTheChart applies all that the chart can have, and runs the second scheduler
// by it: with the configuration and the rights of its service account, beside which nothing places
// pods here.
func TestARealClusterTakesTheChart(t *testing.T) {
	plane := controltest.Start(t)
	text, err := render(t, "nines", map[string]any{
		"scheduler": map[string]any{"enabled": true}, "ports": map[string]any{"enabled": true, "ports": examplePorts(t)},
	})
	if err != nil {
		t.Fatal(err)
	}
	plane.Apply(t, []byte("{apiVersion: v1, kind: Namespace, metadata: {name: nines}}"))
	plane.Apply(t, text)
	controltest.Eventually(t, "the API server serves the definition", func(ctx context.Context) error {
		_, err := plane.Latencies.List(ctx, metav1.ListOptions{})
		return err
	})
	config, err := plane.Kube.CoreV1().ConfigMaps("nines").Get(t.Context(), "nines-scheduler", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	plane.StartSecondScheduler(t, config.Data["config.yaml"])
	for name, p99 := range map[string]int64{"slow": 400_000, "fast": 50_000} {
		plane.Node(t, name, nil)
		now := metav1.Now()
		_, err := plane.Latencies.Create(t.Context(), &v1alpha1.NodeLatency{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind.Kind},
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Figures: []v1alpha1.Figure{{
				Tier: "veth", Way: v1alpha1.OneWay, Count: 1_000_000, Verdict: v1alpha1.Clean, MeasuredAt: now, ValidUntil: metav1.NewTime(now.Add(time.Hour)),
				Percentiles: []v1alpha1.Percentile{{P: "99", ValueNs: p99, UpperNs: &p99}},
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	request := map[string]string{"nines.dev/latency": "p99 < 100us"}
	plane.Pod(t, "for-another", request)
	plane.Pod(t, "ours", request, func(pod *corev1.Pod) { pod.Spec.SchedulerName = "nines-scheduler" })
	if pod := plane.Bound(t, "ours"); pod.Spec.NodeName != "fast" || pod.Annotations["nines.dev/placed"] == "" {
		t.Errorf("it is on node %s, with %v", pod.Spec.NodeName, pod.Annotations)
	}
	lease, err := plane.Kube.CoordinationV1().Leases("nines").Get(t.Context(), "nines-scheduler", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		t.Errorf("nobody holds the lease: %v", err)
	}
	other, err := plane.Kube.CoreV1().Pods("default").Get(t.Context(), "for-another", metav1.GetOptions{})
	if err != nil || other.Spec.NodeName != "" || controltest.Why(other) != "" {
		t.Errorf("a pod of another scheduler is on node %q, %q: %v", other.Spec.NodeName, controltest.Why(other), err)
	}
}

func TestValuesThatAreWrongAreRefused(t *testing.T) {
	for words, values := range map[string]map[string]any{
		"agnet":           {"agnet": map[string]any{}},
		"interval":        {"agent": map[string]any{"interval": "5 minutes"}},
		"tiers":           {"agent": map[string]any{"tiers": "veth"}},
		"idle":            {"agent": map[string]any{"idle": 50}},
		"replicas":        {"scheduler": map[string]any{"replicas": 0}},
		"name":            {"scheduler": map[string]any{"name": "default-scheduler"}},
		"packetsADay":     {"agent": map[string]any{"budget": map[string]any{"packetsADay": "many"}}},
		"imagePullPolicy": {"imagePullPolicy": "Sometimes"},
		"/ports/ports":    {"ports": map[string]any{"enabled": true}},
		"tier":            {"ports": map[string]any{"ports": []any{map[string]any{"tier": "warp", "count": 1}}}},
		"shared":          {"ports": map[string]any{"ports": []any{map[string]any{"tier": "switch", "count": 1, "shared": map[string]any{}}}}},
		"links":           {"ports": map[string]any{"links": []any{map[string]any{"parent": "br0", "mbit": 0}}}},
	} {
		if _, err := render(t, "nines", values); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v: %v", values, err)
		}
	}
}

// TestTheSchemaAndTheValuesHaveTheSameKeys: a value without a schema would be refused, and one that
// is only in the schema nobody would find.
func TestTheSchemaAndTheValuesHaveTheSameKeys(t *testing.T) {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	read := func(name string, into any) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(chart, name))
		if err == nil {
			err = sigsyaml.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	read("values.schema.json", &schema)
	values := map[string]any{}
	read("values.yaml", &values)
	delete(schema.Properties, "global") // Helm's own, for charts in charts
	compare(t, "", schema.Properties, values)
}

// TestTheSchemaHasTheKeysOfAPortsFile: what nines-ports reads can be a value of the chart.
func TestTheSchemaHasTheKeysOfAPortsFile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	for key, entry := range map[string]any{"ports": dra.Source{}, "links": dra.Link{}} {
		var schema any
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{"properties", "ports", "properties", key, "items", "properties"} {
			schema = schema.(map[string]any)[at]
		}
		var read []string
		for field := range reflect.TypeOf(entry).Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			read = append(read, name)
		}
		slices.Sort(read)
		if keys := slices.Sorted(maps.Keys(schema.(map[string]any))); !slices.Equal(keys, read) {
			t.Errorf("%s: the schema has %v, a ports file %v", key, keys, read)
		}
	}
}

func compare(t *testing.T, at string, schema map[string]json.RawMessage, values map[string]any) {
	t.Helper()
	if keys, wanted := slices.Sorted(maps.Keys(values)), slices.Sorted(maps.Keys(schema)); !slices.Equal(keys, wanted) {
		t.Errorf("%q: the values have %v, the schema %v", at, keys, wanted)
	}
	for key, text := range schema {
		var below struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if err := json.Unmarshal(text, &below); err != nil {
			t.Fatal(err)
		}
		if inner, ok := values[key].(map[string]any); ok && below.Properties != nil {
			compare(t, at+key+".", below.Properties, inner)
		}
	}
}
