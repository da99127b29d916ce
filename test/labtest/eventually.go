package labtest

import (
	"context"
	"testing"
	"time"

	"nines.dev/nines/kernel/await"
)

// Eventually waits until something is so; what completes "wait until". A busy host may take long, so it waits long.
func Eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	Within(t, 60*time.Second, what, is)
}

// Within is Eventually for what takes longer, such as a boot.
func Within(t testing.TB, patience time.Duration, what string, is func() bool) {
	t.Helper()
	if err := await.Until(context.Background(), await.Condition{
		What: what, Within: patience, Every: 20 * time.Millisecond,
		Holds: func(context.Context) error { return await.Answer(is(), nil) },
	}); err != nil {
		t.Fatal(err)
	}
}
