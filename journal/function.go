package journal

import (
	"context"
	"encoding/json"
	"fmt"

	"nines.dev/nines/kernel/pci"
)

// releaseFunction makes a PCI function what it was. Its interface has come back to the
// host by then, as its node's namespace is gone; one whose node lives on is fetched.
func releaseFunction(ctx context.Context, entry Entry) error {
	var old pci.State
	if err := json.Unmarshal([]byte(entry.Old), &old); err != nil {
		return fmt.Errorf("what the function was: %w", err)
	}
	return pci.Bus{}.Release(ctx, entry.Path, entry.Target, entry.Token, old)
}
