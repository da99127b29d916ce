package service

import (
	"context"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/node"
)

// stopPatience is how long services get to end by their stop signals: then their keepers kill them.
const stopPatience = 2 * node.KillDelay

// Of is the service of a step, as "node:service"; empty for other steps.
func Of(e journal.Entry) string {
	name, is := strings.CutPrefix(e.Name, mark)
	if !is || e.Kind != process.Kind || e.Node == "" {
		return ""
	}
	return e.Node + ":" + name
}

// Steps selects the steps of services, named as Of does.
func Steps(services map[string]bool) func(journal.Entry) bool {
	return func(e journal.Entry) bool { return services[Of(e)] }
}

// Stop asks services to end, all at once, and returns when they have, or have had time enough. Undo kills those that are
// left. It needs nothing but the journal.
func Stop(ctx context.Context, j *journal.Journal, which func(service string) bool) {
	var asked []proc.Identity
	for _, e := range j.Entries() {
		name := Of(e)
		if name == "" || e.Learnt == nil || !which(name) {
			continue
		}
		if keeper := process.Of(e); keeper.Alive() && keeper.Signal(unix.SIGTERM) == nil {
			asked = append(asked, keeper)
		}
	}
	if len(asked) == 0 {
		return
	}
	_, _ = await.InTime(ctx, await.Condition{ // one that does not end is killed
		What: "the services have ended", Within: stopPatience, Every: 2 * time.Millisecond, UpTo: readyEvery,
		Holds: func(context.Context) error {
			for _, id := range asked {
				if id.Alive() {
					return await.Answer(false, nil)
				}
			}
			return nil
		},
	})
}
