package running

import (
	"nines.dev/nines/host/tune"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/replace"
)

// TuningMark marks the steps of the host's tuning in a lab's journal.
const TuningMark = "tuning"

// Tuning is what was done to the host's settings when the lab came up; nil if the plan has no
// tuning.
func (l *Lab) Tuning() (*tune.Applied, error) {
	if l.Plan().Tuning == "" {
		return nil, nil
	}
	return replace.ReadIfThere[*tune.Applied](l.State().Tuning()) // nil in a lab that is being built
}

// TuningState is the current state of a lab's tuning of the host.
type TuningState struct {
	*tune.Applied
	// Settings are the settings that the lab changed, with their current values.
	Settings []tune.ChangedSetting `json:"settings"`
}

// TuningNow is the current state of what was done to the host's settings; nil if the plan has no tuning.
func (l *Lab) TuningNow() (*TuningState, error) {
	applied, err := l.Tuning()
	if applied == nil || err != nil {
		return nil, err
	}
	j, err := journal.Read(l.State().Journal())
	if err != nil {
		return nil, err
	}
	return &TuningState{applied, tune.Standings(j, TuningMark)}, nil
}
