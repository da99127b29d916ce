package login

import (
	"context"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/ledger"
)

func init() { journal.RegisterSearch(searchSSHDFolder) }

// searchSSHDFolder finds a lab's use of the host's folder for SSH servers.
func searchSSHDFolder(_ context.Context, sought journal.Sought) ([]journal.Found, error) {
	use := &FolderUse{}
	if err := (ledger.File{Path: SSHDLedger}).Read(use); err != nil || !use.Labs[sought.Journal] {
		return nil, err
	}
	return []journal.Found{{Step: journal.Step{Kind: KindSSHDFolder, Path: SSHDFolder, Target: SSHDLedger, Name: sought.Journal}}}, nil
}
