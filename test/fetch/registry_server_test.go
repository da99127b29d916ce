package fetch

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// imageServer is a registry on the loopback address, as one has it for tests: without TLS.
type imageServer struct {
	*httptest.Server
	// host is its address with the port.
	host string
	// holding, until it is closed, keeps those who ask for the content of images waiting.
	holding chan struct{}
}

func newImageServer(t testing.TB) *imageServer {
	t.Helper()
	s := &imageServer{}
	answers := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.holding != nil && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
			select {
			case <-s.holding:
			case <-r.Context().Done():
			}
		}
		answers.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	s.host = s.Listener.Addr().(*net.TCPAddr).String()
	return s
}

// push puts an image of labs.OCIImage into the registry, in an index that also has one for another machine,
// and returns the index's digest.
func (s *imageServer) push(t testing.TB, image, repository, tag string) string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	folder, err := layout.ImageIndexFromPath(strings.TrimPrefix(image, "oci:"))
	must(err)
	manifest, err := folder.IndexManifest()
	must(err)
	ours, err := folder.Image(manifest.Manifests[0].Digest)
	must(err)
	foreign, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: "s390x"})
	must(err)
	put := func(method, path, kind string, content []byte) {
		t.Helper()
		request, err := http.NewRequest(method, s.URL+"/v2/"+repository+path, bytes.NewReader(content))
		must(err)
		request.Header.Set("Content-Type", kind)
		answer, err := http.DefaultClient.Do(request)
		must(err)
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusCreated {
			said, _ := io.ReadAll(answer.Body)
			t.Fatalf("%s %s: %s: %s", method, path, answer.Status, said)
		}
	}
	blob := func(digest v1.Hash, content []byte) {
		t.Helper()
		put(http.MethodPost, "/blobs/uploads/?digest="+digest.String(), "application/octet-stream", content)
	}
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: foreign, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "s390x"}}},
		mutate.IndexAddendum{Add: ours, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: runtime.GOARCH}}})
	for _, img := range []v1.Image{foreign, ours} {
		layers, err := img.Layers()
		must(err)
		for _, l := range layers {
			digest, err := l.Digest()
			must(err)
			packed, err := l.Compressed()
			must(err)
			content, err := io.ReadAll(packed)
			must(err)
			blob(digest, content)
		}
		name, err := img.ConfigName()
		must(err)
		config, err := img.RawConfigFile()
		must(err)
		blob(name, config)
		digest, err := img.Digest()
		must(err)
		kind, err := img.MediaType()
		must(err)
		text, err := img.RawManifest()
		must(err)
		put(http.MethodPut, "/manifests/"+digest.String(), string(kind), text)
	}
	kind, err := index.MediaType()
	must(err)
	text, err := index.RawManifest()
	must(err)
	put(http.MethodPut, "/manifests/"+tag, string(kind), text)
	digest, err := index.Digest()
	must(err)
	return digest.String()
}
