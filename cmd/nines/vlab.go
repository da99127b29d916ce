package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/terminal"
	"nines.dev/nines/vm/boot"
	"nines.dev/nines/vm/guestimage"
	"nines.dev/nines/vm/vlab"
)

func newVlabCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "vlab",
		Short: "Try an experiment in a virtual machine with other hardware or kernels",
		Long: `A virtual laboratory is a virtual machine that has what this host may lack: two network
cards with SR-IOV (Intel 82576, igb) cabled to each other, an IOMMU, four CPUs in two
NUMA nodes, and a choice of kernels, kernel command lines and control group versions.
Use it to try an experiment before the hardware arrives, or a boot parameter before the
reboot.

It needs QEMU 9.0 or newer (in a checkout: make setup-vm). The first start makes the
laboratory's files from Debian's packages, which takes a minute or two, and keeps them
in /var/cache/nines (NINES_CACHE_DIR changes the folder). Every start is a first boot:
changes inside the laboratory are gone when it ends, and this host is not touched.

Where KVM cannot run a guest, QEMU translates instructions (TCG): everything works, but
timings mean nothing.`,
		Example: `  nines vlab exec -- ip -br link                       # look at it
  nines vlab run examples/quickstart.yaml              # try an experiment in it
  nines vlab run lab.yaml --kernel rt --append "isolcpus=2-3 nohz_full=2-3"
  nines vlab exec --kernel debian13 --cgroup v1 -- nines doctor
  nines vlab shell                                     # and look around`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newVlabRunCommand(), newVlabExecCommand(), newVlabShellCommand(), newVlabBuildCommand(), newVlabKernelsCommand())
	return c
}

// laboratoryFlags are the options of a laboratory.
type laboratoryFlags struct {
	kernel, append, cgroup string
	memoryMiB              int
	copy                   []string
	keep, virtio           bool
}

func (f *laboratoryFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.kernel, "kernel", "debian", "the kernel: debian, cloud or rt, also with a release, such as rt13 (see nines vlab kernels)")
	c.Flags().StringVar(&f.append, "append", "", `additions to the kernel command line, such as "isolcpus=2-3 nohz_full=2-3"`)
	c.Flags().StringVar(&f.cgroup, "cgroup", string(boot.CgroupV2), "control groups: v2, v1 or hybrid")
	c.Flags().IntVar(&f.memoryMiB, "memory", vlab.DefaultMemoryMiB, "the laboratory's memory, in MiB")
	c.Flags().BoolVar(&f.virtio, "virtio", false, "add two virtio-net cards, cabled to each other")
	c.Flags().StringArrayVar(&f.copy, "copy", nil, "give the laboratory this file or folder, at the same path (repeatable)")
}

func (f *laboratoryFlags) check() error {
	if f.memoryMiB < vlab.MinMemoryMiB {
		return exit.Wrongf("--memory %d: too little for Debian and a lab; give at least %d MiB", f.memoryMiB, vlab.MinMemoryMiB)
	}
	for _, path := range f.copy {
		if _, err := os.Stat(path); err != nil {
			return exit.Wrongf("--copy: %w", err)
		}
	}
	for _, layout := range boot.Cgroups {
		if f.cgroup == string(layout) {
			_, err := guestimage.ParseKernel(f.kernel)
			return err
		}
	}
	return exit.Wrongf("unknown --cgroup %q; allowed: v2, v1, hybrid", f.cgroup)
}

// laboratoryStore returns the user's image store, which reports its progress.
func laboratoryStore(stderr io.Writer) (guestimage.Store, error) {
	guest, err := node.Program("nines-guest")
	if err != nil {
		return guestimage.Store{}, err
	}
	return guestimage.Store{Dir: guestimage.DefaultDir(), Guest: guest, Progress: tell(stderr)}, nil
}

// tell returns a function that writes progress.
func tell(stderr io.Writer) func(string) {
	return func(what string) { terminal.Printf(stderr, "vlab: %s\n", what) }
}

// inLaboratory starts a laboratory, calls do, and ends the laboratory.
func (f *laboratoryFlags) inLaboratory(ctx context.Context, stderr io.Writer, do func(*vlab.Laboratory) error) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	store, err := laboratoryStore(stderr)
	if err != nil {
		return err
	}
	lab, err := vlab.Start(ctx, vlab.Options{
		Kernel: f.kernel, CommandLine: strings.Fields(f.append), Cgroup: boot.Cgroup(f.cgroup), MemoryMiB: f.memoryMiB, Virtio: f.virtio,
		Programs: filepath.Dir(store.Guest), Copy: f.copy, Store: store, Progress: tell(stderr),
	})
	if err != nil {
		return err
	}
	defer func() {
		if stopped := lab.Stop(); err == nil {
			err = stopped
		}
	}()
	if verdict := lab.Choice.Verdict(); verdict != "" {
		tell(stderr)(verdict)
	}
	return do(lab)
}

// commandFailed is the error of a command that failed in the laboratory; nines ends with its exit
// code.
func commandFailed(code int) error {
	return exit.With(code, fmt.Errorf("the command ended with exit code %d", code))
}

// workingFolder returns the working folder of a command in the laboratory: the current one, if it
// was copied.
func (f *laboratoryFlags) workingFolder() string {
	here, err := os.Getwd()
	if err != nil {
		return guestFolder
	}
	for _, path := range f.copy {
		whole, err := filepath.Abs(path)
		if err != nil {
			continue
		}
		if below, err := filepath.Rel(whole, here); err == nil && filepath.IsLocal(below) {
			return here
		}
	}
	return guestFolder
}
