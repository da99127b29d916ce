//go:build perf

package perf

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	fwk "k8s.io/kube-scheduler/framework"
	kubescheduler "k8s.io/kubernetes/pkg/scheduler"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	perf "k8s.io/kubernetes/test/integration/scheduler_perf"
	"k8s.io/kubernetes/test/utils/client-go/ktesting"
	"sigs.k8s.io/yaml"

	"nines.dev/nines/cluster/api/v1alpha1"
	"nines.dev/nines/cluster/client"
	"nines.dev/nines/cluster/scheduler"
	"nines.dev/nines/cluster/scheduler/controltest"
)

func TestMain(m *testing.M) {
	if err := perf.InitTests(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// BenchmarkScheduling places pods by the default profile, by the plugin's without a latency request, and with
// one.
func BenchmarkScheduling(b *testing.B) {
	// scheduler_perf looks for etcd in PATH. nines-kube is it under that name.
	folder := b.TempDir()
	if err := os.Symlink(controltest.Program(b), filepath.Join(folder, "etcd")); err != nil {
		b.Fatal(err)
	}
	b.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	// It finds its own files by the path that it was compiled at, which -trimpath has cut (hack/go).
	// With these two, made for another builder, it puts the path together again.
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		b.Fatal(err)
	}
	b.Setenv("TEST_SRCDIR", strings.TrimSpace(string(cache)))
	b.Setenv("TEST_WORKSPACE", ".")
	registry := frameworkruntime.Registry{scheduler.Name: afterDefinition}
	perf.RunBenchmarkPerfScheduling(b, "workloads.yaml", "nines", registry, perf.WithNodeUpdateFn(measure))
}

// afterDefinition makes the plugin when the API server knows NodeLatency: scheduler_perf starts the
// scheduler at once.
func afterDefinition(ctx context.Context, arguments runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	if err := define(ctx, handle.KubeConfig()); err != nil {
		return nil, err
	}
	return scheduler.New(ctx, arguments, handle)
}

func define(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeJSON
	cluster, err := apiextensions.NewForConfig(config)
	if err != nil {
		return err
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(v1alpha1.CRD, definition); err != nil {
		return err
	}
	if _, err = cluster.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, definition, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	latencies, err := client.New(config)
	if err != nil {
		return err
	}
	for {
		_, err := latencies.List(ctx, metav1.ListOptions{Limit: 1})
		if !apierrors.IsNotFound(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// publishers are how many nodes publish at a time.
const publishers = 8

// measure publishes figures of each node: one in five has a port that holds the request of pod-request.yaml.
// So does the default profile's cluster, where nobody reads them: the API server runs in the same
// process, and is to have the same work.
func measure(tCtx ktesting.TContext, _ *kubescheduler.Scheduler, _ *perf.Workload, nodes *corev1.NodeList) error {
	if err := define(tCtx, tCtx.RESTConfig()); err != nil {
		return err
	}
	latencies, err := client.New(tCtx.RESTConfig())
	if err != nil {
		return err
	}
	next := make(chan int)
	failed := make(chan error, publishers)
	var all sync.WaitGroup
	for range publishers {
		all.Go(func() {
			for i := range next {
				if _, err := latencies.Create(tCtx, latencyOf(nodes.Items[i].Name, i%5 == 0)); err != nil && !apierrors.IsAlreadyExists(err) {
					select {
					case failed <- err:
					default:
					}
				}
			}
		})
	}
	for i := range nodes.Items {
		next <- i
	}
	close(next)
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

func latencyOf(node string, fast bool) *v1alpha1.NodeLatency {
	of := &v1alpha1.NodeLatency{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: node}, Figures: []v1alpha1.Figure{figureOf("veth", 400_000), figureOf("vxlan", 2_000_000)},
	}
	if fast {
		of.Figures = append(of.Figures, figureOf("sriov", 17_000))
	}
	return of
}

func figureOf(tier string, ns int64) v1alpha1.Figure {
	f := v1alpha1.Figure{
		Tier: tier, Way: v1alpha1.OneWay, Count: 1_000_000, Verdict: v1alpha1.Clean,
		MeasuredAt: metav1.NewTime(time.Now().Add(-time.Minute)), ValidUntil: metav1.NewTime(time.Now().Add(24 * time.Hour)),
	}
	for _, percent := range []string{"50", "90", "99", "99.9", "99.99"} {
		upper := ns * 105 / 100
		f.Percentiles = append(f.Percentiles, v1alpha1.Percentile{P: percent, ValueNs: ns, UpperNs: &upper})
	}
	return f
}
