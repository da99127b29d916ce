package vm

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"nines.dev/nines/test/vm/boots"
	"nines.dev/nines/vm/guestimage"
	"nines.dev/nines/vm/vlab"
)

// notCopied is what no test in the laboratory reads, and would only take time and memory
// there.
var notCopied = []string{".git", "build", "results", "web"}

// precedence is the nice value of the laboratory beside the other stages of make test. A translated machine whose
// threads do not get their CPUs takes more CPU time: they wait for one another by spinning.
const precedence = -5

// startLaboratory boots, with what the tests need of the repository at its own path.
func startLaboratory(ctx context.Context, repository string, store guestimage.Store, boot boots.Boot) (*vlab.Laboratory, error) {
	options := boot.Options
	options.Nice = precedence
	options.Store, options.Progress, options.Programs = store, say, filepath.Join(repository, "bin")
	rooms, err := os.ReadDir(repository)
	if err != nil {
		return nil, err
	}
	for _, room := range rooms {
		if !slices.Contains(notCopied, room.Name()) {
			options.Copy = append(options.Copy, filepath.Join(repository, room.Name()))
		}
	}
	options.Copy = append(options.Copy, filepath.Join(repository, "build", "vm"))
	return vlab.Start(ctx, options)
}
