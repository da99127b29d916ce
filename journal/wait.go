package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nines.dev/nines/kernel/await"
)

// patience bounds what the steps of one undo wait all together for what is busy. The kernel takes a process that has
// ended out of its control groups a moment later; what stays busy for longer has to be told of, not waited for.
const patience = 5 * time.Second

type progressKey struct{}

// WithProgress has an undo in the context tell what it waits for, once that takes two seconds.
func WithProgress(ctx context.Context, tell func(string)) context.Context {
	return context.WithValue(ctx, progressKey{}, tell)
}

// Await waits for what has to hold before an undo can go on, and tells of it as WithProgress says.
func Await(ctx context.Context, c await.Condition) error {
	c.Tell, _ = ctx.Value(progressKey{}).(func(string))
	return await.Until(ctx, c)
}

// Await is the function Await within the time that all steps of the undo have together. If that is used up, or waiting
// is pointless, it asks once.
func (u Undoing) Await(ctx context.Context, c await.Condition) error {
	left, vain := *u.left, fmt.Errorf("not within the %v of the whole undo", patience)
	if u.Unended {
		left, vain = 0, errors.New("processes of the journal have not ended")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, left, vain)
	defer cancel()
	begun := time.Now()
	defer func() { *u.left -= time.Since(begun) }()
	return Await(ctx, c)
}
