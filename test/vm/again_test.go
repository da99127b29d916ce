package vm

import (
	"fmt"
	"strings"
	"testing"
)

// mostFailed is how many tests of a boot may fail and be run once more: a host that takes
// a core away fails few.
const mostFailed = 2

// failedTest is a test that failed in the laboratory.
type failedTest struct {
	in     labPackage
	result testResult
}

// runAgain runs what failed once more, in another machine. What then passes has passed,
// but the table tells of it.
func (s *session) runAgain(t *testing.T) {
	if len(s.failed) > mostFailed || s.lab == nil {
		for _, f := range s.failed {
			s.show(t, f.in, f.result)
		}
		return
	}
	if len(s.failed) == 0 {
		return
	}
	say(fmt.Sprintf("%s: %d failed and run once more, in another machine", s.boot.name, len(s.failed)))
	s.second = true
	s.start(t)
	for _, f := range s.failed {
		s.run(t, f.in, []string{f.result.name})
		if last := s.rows[len(s.rows)-1]; last.result == again {
			s.notes = append(s.notes, firstFailure(s.boot.name, f.result))
		}
	}
}

// firstFailure is for hack/stages.sh, which knows such lines.
func firstFailure(boot string, r testResult) string {
	text := strings.TrimRight(r.output, "\n")
	return fmt.Sprintf("vm %s: AGAIN %s, which first said:\n    %s\n", boot, r.name, strings.ReplaceAll(text, "\n", "\n    "))
}
