package receive

import (
	"errors"
	"io/fs"
	"slices"

	"nines.dev/nines/busypoll/kbp"
)

// livepatchThreads are the threads with which the module kbp polls a device of the calling thread's
// namespace, each with its counts for that device.
func livepatchThreads(index int) (list []Thread, problem string, err error) {
	instances, err := kbp.List()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "the module " + kbp.Name + " has been unloaded", nil
	}
	if err != nil {
		return nil, "", err
	}
	for _, i := range instances {
		if i.IfIndex != index || i.Group == 0 {
			continue
		}
		at := slices.IndexFunc(list, func(t Thread) bool { return t.TID == i.Thread })
		if at < 0 {
			at = len(list)
			thread := threadOf(i.Thread)
			thread.Polls, thread.Packets = new(uint64), new(uint64)
			list = append(list, thread)
		}
		*list[at].Polls += i.Polls
		*list[at].Packets += i.Packets
	}
	if len(list) == 0 {
		problem = "another program has had the module " + kbp.Name + " release it"
	}
	return list, problem, nil
}
