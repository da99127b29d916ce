package isolate

import (
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"

	"nines.dev/nines/kernel/cgroup"
)

// attachDeviceProgram lets a v2 group open the devices of the rules. cgroup v2 has no files for
// that: the kernel calls a BPF program on each access (Linux 4.15; "Device controller" in
// Documentation/admin-guide/cgroup-v2.rst). The program stays attached when nines exits, and is
// removed with the group.
func attachDeviceProgram(dir string, rules []cgroup.DeviceRule) error {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "nines_devices", Type: ebpf.CGroupDevice, License: "Apache-2.0", Instructions: deviceProgram(rules),
	})
	if err != nil {
		return fmt.Errorf("load the program for %s: %w", dir, err)
	}
	defer program.Close()
	group, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer group.Close()
	err = link.RawAttachProgram(link.RawAttachProgramOptions{
		Target: int(group.Fd()), Program: program, Attach: ebpf.AttachCGroupDevice,
	})
	if err != nil {
		return fmt.Errorf("attach the program to %s: %w", dir, err)
	}
	return nil
}

// The values of struct bpf_cgroup_dev_ctx in include/uapi/linux/bpf.h: the access in
// the upper half of access_type, the kind of device in the lower.
const (
	accessMknod, accessRead, accessWrite = 1, 2, 4
	kindBlock, kindCharacter             = 1, 2
)

// deviceProgram returns 1 if a rule allows the whole access, else 0. The function is pure.
func deviceProgram(rules []cgroup.DeviceRule) asm.Instructions {
	const kind, access, major, minor = asm.R2, asm.R3, asm.R4, asm.R5
	program := asm.Instructions{
		asm.LoadMem(kind, asm.R1, 0, asm.Word),
		asm.Mov.Reg32(access, kind),
		asm.And.Imm32(kind, 0xffff),
		asm.RSh.Imm32(access, 16),
		asm.LoadMem(major, asm.R1, 4, asm.Word),
		asm.LoadMem(minor, asm.R1, 8, asm.Word),
	}
	for i, r := range rules {
		next := fmt.Sprintf("rule%d", i+1)
		var block asm.Instructions
		wanted := int32(kindCharacter)
		if r.Kind == 'b' {
			wanted = kindBlock
		}
		block = append(block, asm.JNE.Imm(kind, wanted, next))
		// The requested access beyond what the rule allows.
		block = append(block, asm.Mov.Reg32(asm.R6, access), asm.And.Imm32(asm.R6, ^accessBits(r.Access)), asm.JNE.Imm(asm.R6, 0, next))
		if r.Major >= 0 {
			block = append(block, asm.JNE.Imm(major, int32(r.Major), next))
		}
		if r.Minor >= 0 {
			block = append(block, asm.JNE.Imm(minor, int32(r.Minor), next))
		}
		block = append(block, asm.Mov.Imm(asm.R0, 1), asm.Return())
		block[0] = block[0].WithSymbol(fmt.Sprintf("rule%d", i))
		program = append(program, block...)
	}
	return append(program, asm.Mov.Imm(asm.R0, 0).WithSymbol(fmt.Sprintf("rule%d", len(rules))), asm.Return())
}

func accessBits(access string) int32 {
	var bits int32
	for letter, bit := range map[string]int32{"m": accessMknod, "r": accessRead, "w": accessWrite} {
		if strings.Contains(access, letter) {
			bits |= bit
		}
	}
	return bits
}
