package image

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// TestWhatCannotBeUnpackedIsNotImported: the error tells the layer, the file, the reason and a remedy, and
// the store is as before.
func TestWhatCannotBeUnpackedIsNotImported(t *testing.T) {
	labtest.Root(t)
	good := imageOf(t, v1.Config{}, layerOf(t, lower...), layerOf(t, upper...))
	config, err := good.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.RootFS.DiffIDs[1].Hex = strings.Repeat("0", 64)
	wrongDigest, err := mutate.ConfigFile(good, config)
	if err != nil {
		t.Fatal(err)
	}
	of := func(entries ...entry) v1.Image {
		return imageOf(t, v1.Config{}, layerOf(t, lower...), layerOf(t, entries...))
	}
	const named = `layer 2 of 2: "x/y" in it: `
	for why, img := range map[string]v1.Image{
		"layer 2 of 2: its digest is ":                         wrongDigest,
		named + `a hard link to "../../host", which leads out`: of(entry{"x/y", "=>../../host"}),
		named + `a hard link to "/absent", which is not`:       of(entry{"x/y", "=>/absent"}),
		named + `a hard link to "x", which is a folder`:        of(entry{"x/y", "=>x"}),
		named + "a file is in the place":                       of(entry{"x", "1"}, entry{"x/y", "1"}),
		`layer 2 of 2: "x/../../y" in it: the name leads out`:  of(entry{"x/../../y", "1"}),
		`layer 2 of 2: "/../y" in it: the name leads out`:      of(entry{"/../y", "1"}),
	} {
		s := newStore(t)
		from := spec.ImageName{Form: spec.ImageLayout, Path: layoutWith(t, map[string]v1.Image{"": img})}
		_, err := s.Import(context.Background(), from, "it", false)
		if exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "image "+from.String()+": "+why) || !strings.Contains(err.Error(), "; get ") {
			t.Errorf("%v, want %q", err, why)
		}
		_ = filepath.WalkDir(s.Dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				t.Errorf("%s: %s is left: %v", why, path, err)
			}
			return nil
		})
	}
}
