package node

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/plan"
)

// keep starts the keeper of the container's output, and in it the command that makes the container, if there is one: then
// the keeper also notes how the container's first process ends. It returns when the command has ended, and its error is
// that of the command. The keeper ends with the container, and holds its token as the daemons of managers do.
func (c ociContainer) keep(ctx context.Context, command ...string) error {
	_, err := outputKeeper{init: c.init, log: c.log, ended: c.ended(), pipe: c.output(), token: c.token, cpus: c.cpus}.start(ctx, command...)
	return err
}

// settled waits for a moment until all is written that a first process has left which ended: what it printed last, and
// how it ended.
func (c ociContainer) settled() {
	_, _ = await.InTime(context.Background(), await.Condition{ // managers note no end
		What: "the keeper has noted its end", Within: settling, Every: time.Millisecond,
		Holds: func(context.Context) error {
			_, err := os.Stat(c.ended())
			return await.Answer(err == nil, nil)
		},
	})
}

// Ending is how a node's first process ended, as its keeper has noted, or as the manager that has its container tells:
// "ended with exit code 3"; empty if nobody has, as it runs, or has none.
func (p Place) Ending(n plan.Node) string {
	if n.OCI == nil {
		return ""
	}
	b := p.bundle(n)
	text, err := os.ReadFile(b.ended())
	if errors.Is(err, fs.ErrNotExist) {
		return b.askManager(n.OCI.Driver)
	}
	how, number, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	value, failed := strconv.Atoi(number)
	switch {
	case err != nil, failed != nil:
		return ""
	case how == "signal":
		return proc.EndedBy(unix.Signal(value))
	}
	return proc.EndedWith(value)
}
