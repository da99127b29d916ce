package proc

import (
	"context"
	"fmt"
	"time"

	"nines.dev/nines/kernel/await"
)

// endEvery is how often AwaitEnd looks at the process.
const endEvery = 20 * time.Millisecond

// AwaitEnd returns nil once the process has ended, and an error if ctx ends before.
func (id Identity) AwaitEnd(ctx context.Context) error {
	return await.Until(ctx, await.Condition{
		What: fmt.Sprintf("process %d has ended", id.PID), Every: endEvery,
		Holds: func(context.Context) error { return await.Answer(!id.Alive(), nil) },
	})
}
