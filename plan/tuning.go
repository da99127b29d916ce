package plan

import "nines.dev/nines/spec"

// tuning is the experiment's profile of host settings, empty where it leaves them alone.
func (w *work) tuning() spec.Tuning {
	if w.exp.Tuning == spec.TuningNone {
		return ""
	}
	return w.exp.Tuning
}
