package exit

import (
	"errors"
	"fmt"
	"syscall"
)

// Lacking is the error of a capability that was tried in vain. What the kernel forbids is not missing, so for its
// refusal this is the plain error: package kernel/refusal says why.
func Lacking(e *MissingError) error {
	if errors.Is(e.Err, syscall.EPERM) || errors.Is(e.Err, syscall.EACCES) {
		return fmt.Errorf("%s: %w", e.Reason, e.Err)
	}
	return e
}
