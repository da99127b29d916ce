package method

import (
	"fmt"
	"slices"
	"time"
)

// quickBecause is the reason for deviations that quick causes.
const quickBecause = "because quick is set"

// because says why a value deviates from the standard's.
func because(quick bool) string {
	if quick {
		return quickBecause
	}
	return "because the experiment file says so"
}

// shorter returns the deviation of a duration that is below the standard's, if it is.
func shorter(what string, got, least time.Duration, source string, quick bool) []string {
	if got >= least {
		return nil
	}
	return []string{fmt.Sprintf("%s of %s, where %s asks for at least %s, %s", what, got, source, least, because(quick))}
}

// fewer returns the deviation of a number that is below the standard's, if it is.
func fewer(what string, got, least int, source string, quick bool) []string {
	if got >= least {
		return nil
	}
	return []string{fmt.Sprintf("%d %s, where %s asks for at least %d, %s", got, what, source, least, because(quick))}
}

// differs returns the deviation of a parameter from the standard's, if it differs.
func differs(what string, got, standard float64, source string, quick bool) []string {
	if got == standard {
		return nil
	}
	return []string{fmt.Sprintf("%s of %g, where %s has %g, %s", what, got, source, standard, because(quick))}
}

// FrameSizesRFC8219 are the Ethernet frame lengths that RFC 8219 section 5.1.1 requires.
var FrameSizesRFC8219 = []int{64, 128, 256, 512, 768, 1024, 1280, 1518, 1522, 2048, 4096, 8192, 9216}

// frameSize returns the deviation for a frame size that the standard lacks.
func frameSize(bytes int, sizes []int, source string) []string {
	if bytes == 0 || slices.Contains(sizes, bytes) {
		return nil
	}
	return []string{fmt.Sprintf("frames of %d bytes, where %s has %v, because the experiment file says so", bytes, source, sizes)}
}
