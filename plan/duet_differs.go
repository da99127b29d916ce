package plan

import (
	"fmt"

	"nines.dev/nines/spec"
)

// differs says in what the sides of a duet differ besides what the file sets: who reads a result has to know.
func (w *work) differs() []string {
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for _, n := range w.users() {
		_, side := spec.SideOf(n.sided())
		if twin := w.twin(n); twin != nil && n.app().HasEngine() && !twin.app().HasEngine() {
			say("an engine of nines handles packets on side %s only", side)
		}
		switch twin := w.twin(n); {
		case side == "" || !n.exclusive || n.pollsFor != nil:
		case twin == nil:
			say("side %s has %s, on %s of its own", side, n.title(), cpuText(n.cpus))
		case !twin.exclusive:
			say("%s has %s of its own, and %s shares its own", n.title(), cpuText(n.cpus), twin.title())
		}
	}
	a, b := w.courses[0].stream, w.courses[1].stream
	differs := func(key string, a, b any) {
		if a != b {
			say("the generator's %s is %v on side a and %v on side b", key, a, b)
		}
	}
	differs("backend", a.Backend, b.Backend)
	differs("io", a.IO, b.IO)
	if a.Wait != b.Wait && (a.Wait == spec.WaitSpin || b.Wait == spec.WaitSpin) {
		say("the generator is one thread, and polls for both sides")
	} else {
		differs("wait", a.Wait, b.Wait)
	}
	return append(list, w.replaced()...)
}
