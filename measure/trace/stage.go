package trace

// stages are enum stage of bpf/record.h: the places of a packet's way through the kernel.
var stages = []string{"qdisc", "driver", "stack", "wake", "read"}

// stageName is the stage with its device, where it has one.
func stageName(stage uint16, device string, has bool) string {
	name := nameOf(stages, uint64(stage))
	if has {
		name += " " + device
	}
	return name
}
