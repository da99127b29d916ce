package vm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/boot"
)

// Choice says how guests run on this host, and why there is nothing better.
type Choice struct {
	Accelerator Accelerator
	// Reason is empty for KVM.
	Reason string
}

// Verdict is a warning for every timing taken in the guest; empty for KVM.
func (c Choice) Verdict() string {
	if c.Accelerator == KVM {
		return ""
	}
	return "timings mean nothing: the guest's instructions are translated (TCG), as " + c.Reason
}

// probePatience is for a guest without disks on KVM, which takes a second or two.
const probePatience = 10 * time.Second

// Choose tries whether KVM runs a guest with this kernel and initramfs: in some nested
// virtual machines /dev/kvm can be opened but guests do not run. The answer depends on the
// host more than on the kernel; it is cached in a file of the folder until the next boot.
func Choose(ctx context.Context, kernel, initrd, cache string) (Choice, error) {
	device, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return Choice{TCG, "no KVM: " + err.Error()}, nil
	}
	_ = device.Close()
	memo := filepath.Join(cache, "kvm")
	question, err := boot.ID()
	if err != nil {
		return Choice{}, err
	}
	if text, err := os.ReadFile(memo); err == nil {
		asked, answer, _ := strings.Cut(string(text), "\n")
		if asked == question {
			return parseChoice(answer), nil
		}
	}
	choice, err := probe(ctx, kernel, initrd)
	if err != nil {
		return Choice{}, err
	}
	return choice, os.WriteFile(memo, []byte(question+"\n"+string(choice.Accelerator)+" "+choice.Reason), 0o644)
}

func parseChoice(text string) Choice {
	accelerator, reason, _ := strings.Cut(text, " ")
	if Accelerator(accelerator) == KVM {
		return Choice{Accelerator: KVM}
	}
	return Choice{TCG, reason}
}

// probe boots a guest on KVM.
func probe(ctx context.Context, kernel, initrd string) (Choice, error) {
	dir, err := os.MkdirTemp("", "nines-kvm")
	if err != nil {
		return Choice{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	limited, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	m, err := Start(limited, Config{
		Dir: dir, Kernel: kernel, Initrd: initrd, Accelerator: KVM, Memory: Memory{MiB: 512},
	})
	switch {
	case err == nil:
		return Choice{Accelerator: KVM}, m.Stop()
	case ctx.Err() != nil:
		return Choice{}, context.Cause(ctx)
	case exit.Code(err) == exit.Lacks: // there is no QEMU that works
		return Choice{}, err
	case limited.Err() != nil:
		return Choice{TCG, fmt.Sprintf("a guest on /dev/kvm was not up after %v", probePatience)}, nil
	}
	reason, _, _ := strings.Cut(err.Error(), "\n")
	return Choice{TCG, "no guest runs on /dev/kvm: " + reason}, nil
}
