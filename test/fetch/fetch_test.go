package fetch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// fetchingHost is a host with drivers that fetch images, each set up as its users do it.
//
//	registry on 127.0.0.1 ◂── podman, docker, containerd: stores, settings and sockets of their own
//	                              ▴
//	                            nines
type fetchingHost struct {
	*apart
	nines string
	// has are commands that succeed if a driver has an image, whose name they end with.
	has map[string][]string
}

const (
	containerdConfig = "version = 2\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n"
	// Without a bridge and rules, which would be on the host itself.
	dockerConfig = `{"bridge": "none", "iptables": false, "ip-forward": false, "ip-masq": false, "storage-driver": "vfs"}`
	podmanConfig = "unqualified-search-registries = [\"%[1]s\"]\n[[registry]]\nlocation = \"%[1]s\"\ninsecure = true\n"
)

// newFetchingHost also starts the daemon of a driver that has one.
func newFetchingHost(t *testing.T, driver, registry string) *fetchingHost {
	t.Helper()
	labs.NeedOCIDriver(t, driver)
	h := &fetchingHost{apart: newApart(t), nines: labtest.Nines(t), has: map[string][]string{
		"podman": {"podman", "image", "exists"}, "docker": {"docker", "image", "inspect"},
		"containerd": {"sh", "-c", `ctr images ls -q | grep -qxF "$0"`},
	}}
	h.write("/etc/containers/registries.conf", fmt.Sprintf(podmanConfig, registry))
	if driver == "containerd" || driver == "docker" {
		h.write("/etc/containerd/config.toml", containerdConfig)
		h.serve([]string{"ctr", "version"}, "containerd")
	}
	if driver == "docker" {
		h.write("/etc/docker/daemon.json", dockerConfig)
		h.serve([]string{"docker", "version"}, "dockerd", "--containerd", "/run/containerd/containerd.sock")
	}
	return h
}

// run runs nines there, and returns its exit code and what it says.
func (h *fetchingHost) run(arguments ...string) (int, string) {
	h.t.Helper()
	out, err := h.command(append([]string{h.nines}, arguments...)...).CombinedOutput()
	if status := new(exec.ExitError); errors.As(err, &status) {
		return status.ExitCode(), string(out)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return 0, string(out)
}

// does is run for what must succeed.
func (h *fetchingHost) does(arguments ...string) string {
	h.t.Helper()
	code, said := h.run(arguments...)
	if code != 0 && !labtest.NoneValid(said) {
		h.t.Fatalf("nines %s: exit code %d: %s", strings.Join(arguments, " "), code, said)
	}
	return said
}

// file writes an experiment file whose node b is of an image.
func (h *fetchingHost) file(name, driver, image string) string {
	h.t.Helper()
	path := filepath.Join(h.t.TempDir(), name+".yaml")
	text := fmt.Sprintf(`
name: %s
topology:
  nodes:
    a: {}
    b: {runtime: oci, driver: %s, image: %q, app: {kind: forward, backend: raw}}
  links:
    - {name: in, endpoints: ["a:tx", "b:in"]}
    - {name: out, endpoints: ["b:out", "a:rx"]}
traffic: {from: "a:tx", to: "a:rx", rate_pps: 1000, backend: raw, warmup: 20ms, drain: 20ms, duration: 100ms}
`, name, driver, image)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	labs.Plan(h.t, text) // which takes the lab's name from tests of other processes
	return path
}

// digestOf is the digest that nines inspect tells of node b's image.
func (h *fetchingHost) digestOf(name string) string {
	h.t.Helper()
	var in struct {
		NodeList []struct {
			Name  string         `json:"name"`
			Image *lab.NodeImage `json:"image"`
		} `json:"node_list"`
	}
	if err := json.Unmarshal([]byte(h.does("inspect", name, "--format", "json")), &in); err != nil {
		h.t.Fatal(err)
	}
	for _, n := range in.NodeList {
		if n.Name == "b" && n.Image != nil {
			return n.Image.Digest
		}
	}
	return ""
}

// TestADriverFetchesAnImage: by its own settings, into its own store, where it stays; the container is the
// image, its digest is reported, and without the registry the next one is made from the driver's store.
func TestADriverFetchesAnImage(t *testing.T) {
	for _, driver := range labs.OCIManagers {
		t.Run(driver, func(t *testing.T) {
			labtest.Root(t)
			server := newImageServer(t)
			image := labs.OCIImage(t, v1.Config{Cmd: []string{"sleep", "1000"}, Env: []string{"COLOUR=red"}})
			digest := server.push(t, image, "tools/box", "1")
			h := newFetchingHost(t, driver, server.host)
			reference, name := server.host+"/tools/box:1", "tbfetch-"+driver
			file := h.file(name, driver, reference)
			p := labs.Plan(t, readText(t, file))
			if said := h.does("up", "--dry-run", file); !strings.Contains(said, "fetch the image "+reference+" with "+driver) {
				t.Errorf("the dry run says %q", said)
			}
			for _, from := range []string{"the registry", "the driver"} {
				said := h.does("up", file)
				if fetched := strings.Contains(said, driver+" has fetched the image "+reference); fetched != (from == "the registry") {
					t.Errorf("from %s: it says %q", from, said)
				}
				if out := h.does("exec", "b", "--", "sh", "-c", "echo $COLOUR; cat /proc/1/cmdline | tr '\\0' ' '"); out != "red\nsleep 1000 " {
					t.Errorf("the container says %q", out)
				}
				known := []string{digest}
				if driver == "podman" { // which keeps the digest of the image for this machine
					known = append(known, "sha256:"+manifestDigest(t, image))
				}
				if got := h.digestOf(name); !strings.Contains(strings.Join(known, " "), got) || got == "" {
					t.Errorf("from %s: its image is %q, want one of %q", from, got, known)
				}
				h.does("restart", "b")
				h.does("down", name)
				if left := traces.Left(t, p.Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
					t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
				}
				h.must(append(h.has[driver], reference)...)
				h.does("image", "rm", "--unpacked")
				server.Close()
			}
			out := t.TempDir()
			h.does("run", filepath.Join(labtest.Repository(), "examples/images/registry.yaml"), "--out", out, "--set", "name="+name, "--set", "topology.nodes.dut.image="+reference,
				"--set", "topology.nodes.dut.driver="+driver, "--set", "repeat=1", "--set", "traffic.warmup=20ms", "--set", "traffic.duration=100ms")
			if got := imagesIn(t, out); len(got) != 1 || got[0].Node != "dut" || got[0].Image != reference || !strings.HasPrefix(got[0].Digest, "sha256:") {
				t.Errorf("the result has the images %+v", got)
			}
		})
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// manifestDigest is the digest of an image of labs.OCIImage.
func manifestDigest(t *testing.T, image string) string {
	t.Helper()
	var index struct{ Manifests []v1.Descriptor }
	if err := json.Unmarshal([]byte(readText(t, filepath.Join(strings.TrimPrefix(image, "oci:"), "index.json"))), &index); err != nil {
		t.Fatal(err)
	}
	return index.Manifests[0].Digest.Hex
}

// imagesIn are the images of the nodes in the only trial of a result below a folder.
func imagesIn(t *testing.T, out string) []lab.NodeImage {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(out, "*", "*", "trials", "0001", "details.json"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no trial in %s: %v", out, err)
	}
	var details struct{ Images []lab.NodeImage }
	if err := json.Unmarshal([]byte(readText(t, found[0])), &details); err != nil {
		t.Fatal(err)
	}
	return details.Images
}

// TestPodmanResolvesAShortName: by its own list of registries.
func TestPodmanResolvesAShortName(t *testing.T) {
	labtest.Root(t)
	server := newImageServer(t)
	server.push(t, labs.OCIImage(t, v1.Config{Cmd: []string{"sleep", "1000"}}), "tools/box", "2")
	h := newFetchingHost(t, "podman", server.host)
	h.does("up", h.file("tbshort", "podman", "tools/box:2"))
	if h.digestOf("tbshort") == "" {
		t.Error("nothing tells which image it is")
	}
	h.does("down", "tbshort")
}

// TestAnImageIsNamedByItsDigest: it is that one, and two nodes of it are fetched once.
func TestAnImageIsNamedByItsDigest(t *testing.T) {
	for _, driver := range labs.OCIManagers {
		t.Run(driver, func(t *testing.T) {
			labtest.Root(t)
			server := newImageServer(t)
			digest := server.push(t, labs.OCIImage(t, v1.Config{Cmd: []string{"sleep", "1000"}}), "tools/box", "1")
			h := newFetchingHost(t, driver, server.host)
			name, reference := "tbdigest-"+driver, server.host+"/tools/box@"+digest
			file := h.file(name, driver, reference)
			text := strings.Replace(readText(t, file), "a: {}", fmt.Sprintf("a: {}\n    c: {runtime: oci, driver: %s, image: %q}", driver, reference), 1)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if said := h.does("up", file); strings.Count(said, "has fetched") != 1 {
				t.Errorf("it says %q", said)
			}
			if got := h.digestOf(name); got == "" || driver != "podman" && got != digest {
				t.Errorf("its image is %q, want %q", got, digest)
			}
			h.does("down", name)
		})
	}
}

// TestAnImageThatCannotBeFetched: what the driver said, and what to do; and nothing of the lab is left.
func TestAnImageThatCannotBeFetched(t *testing.T) {
	for _, driver := range labs.OCIManagers {
		t.Run(driver, func(t *testing.T) {
			labtest.Root(t)
			server := newImageServer(t)
			h := newFetchingHost(t, driver, server.host)
			t.Setenv("NINES_CACHE_DIR", t.TempDir())
			name := "tbnofetch-" + driver
			file := h.file(name, driver, server.host+"/tools/absent:1")
			code, said := h.run("up", file)
			unknown := strings.Contains(strings.ToLower(said), "unknown") || strings.Contains(said, "not found")
			if code != exit.Failed || !unknown || !strings.Contains(said, "nines uses the fetched image") {
				t.Errorf("exit code %d: %s", code, said)
			}
			if left := traces.Left(t, labs.Plan(t, readText(t, file)).Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
				t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
			}
		})
	}
}

// TestADriverThatDoesNotRun: the host lacks something, before anything is made.
func TestADriverThatDoesNotRun(t *testing.T) {
	for _, driver := range []string{"docker", "containerd"} {
		t.Run(driver, func(t *testing.T) {
			labtest.Root(t)
			labs.NeedOCIDriver(t, driver)
			h := &fetchingHost{apart: newApart(t), nines: labtest.Nines(t)}
			code, said := h.run("up", h.file("tbnodaemon", driver, "registry.example/frr:10"))
			if code != exit.Lacks || !strings.Contains(said, "systemctl start "+driver) {
				t.Errorf("exit code %d: %s", code, said)
			}
		})
	}
}

// TestAFetchThatTakesLong: it says so; and a nines that is killed meanwhile leaves no driver at work, and
// nothing that down does not remove.
func TestAFetchThatTakesLong(t *testing.T) {
	for _, driver := range labs.OCIManagers {
		t.Run(driver, func(t *testing.T) {
			labtest.Root(t)
			server := newImageServer(t)
			server.push(t, labs.OCIImage(t, v1.Config{}), "tools/box", "1")
			server.holding = make(chan struct{})
			defer close(server.holding)
			h := newFetchingHost(t, driver, server.host)
			reference, name := server.host+"/tools/box:1", "tbslowly-"+driver
			file := h.file(name, driver, reference)
			said, err := os.Create(filepath.Join(t.TempDir(), "said"))
			if err != nil {
				t.Fatal(err)
			}
			defer said.Close()
			up := h.command(h.nines, "up", file)
			up.Stdout, up.Stderr = said, said
			if err := up.Start(); err != nil {
				t.Fatal(err)
			}
			labtest.Eventually(t, "it says that it takes long", func() bool {
				return strings.Contains(readText(t, said.Name()), driver+" is fetching the image "+reference)
			})
			if fetchersOf(t, reference) == 0 {
				t.Error("no driver is at work")
			}
			if err := up.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = up.Wait()
			labtest.Eventually(t, "the driver's command ends", func() bool { return fetchersOf(t, reference) == 0 })
			h.does("down", name)
			if left := traces.Left(t, labs.Plan(t, readText(t, file)).Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
				t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
			}
		})
	}
}

// fetchersOf counts the programs that fetch an image.
func fetchersOf(t *testing.T, reference string) int {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, path := range found {
		text, _ := os.ReadFile(path) // it may have ended
		if bytes.HasSuffix(text, []byte("\x00"+reference+"\x00")) {
			count++
		}
	}
	return count
}
