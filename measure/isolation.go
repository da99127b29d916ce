package measure

import (
	"nines.dev/nines/lab"
	"nines.dev/nines/result"
)

// isolationOf returns the part of a lab's isolation that its results record.
func isolationOf(l *lab.Lab) (*result.Isolation, error) {
	s, err := l.Isolation()
	if err != nil {
		return nil, err
	}
	i := &result.Isolation{
		Degree: string(s.Degree), CPUs: s.CPUs, HostCPUs: s.HostCPUs, Mechanism: s.Mechanism,
		Interrupts: s.Interrupts, KernelThreads: s.KernelThreads, Tasks: s.Tasks, Settings: s.Settings, Notes: s.Notes,
	}
	for _, g := range s.Groups {
		i.Groups = append(i.Groups, result.IsolationGroup(g))
	}
	return i, nil
}
