package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"nines.dev/nines/busypoll/kbp"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
	"nines.dev/nines/vm/vlab"
)

func newKbpModuleCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "module",
		Short: "Build, load and unload the polling module for Linux 6.1 and 6.12",
		Long: `Kernels before 6.13 cannot poll devices on behalf of an unmodified application. For the
kernels of Debian 12 and 13, nines has a kernel module, a live patch: kernel threads
poll the chosen devices instead of receive softirqs. nines builds the module on this
host against the kernel's headers and keeps it in /var/cache/nines (NINES_CACHE_DIR
changes the folder). While it is loaded, nines kbp start and rx: busy_poll use it.

A loaded live patch taints the kernel (/proc/sys/kernel/tainted, 32768), and so does a
module that is not part of the distribution (4096).`,
		Example: `  nines kbp module build         # needs linux-headers-$(uname -r)
  nines kbp module load
  nines kbp module status
  nines kbp module unload`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newKbpModuleBuildCommand(), newKbpModuleLoadCommand(), newKbpModuleStatusCommand(), newKbpModuleUnloadCommand())
	return c
}

func newKbpModuleBuildCommand() *cobra.Command {
	var laboratory string
	c := &cobra.Command{
		Use:   "build",
		Short: "Build the module for this host's kernel or the laboratory's",
		Long: `Build the module for the running kernel with its headers and compiler (package
linux-headers-$(uname -r)), unless it is already built, and print its path.

--laboratory builds it for a kernel of nines vlab. nines then downloads that kernel's
headers and compiler into a folder of their own, and the laboratory has the module from
then on.`,
		Example: `  nines kbp module build
  nines kbp module build --laboratory debian13
  nines vlab exec --kernel debian13 -- nines kbp module load`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			target := kbp.Target{}
			if laboratory != "" {
				store, err := laboratoryStore(c.ErrOrStderr())
				if err != nil {
					return err
				}
				if target.Release, target.Root, err = vlab.Headers(c.Context(), store, laboratory); err != nil {
					return err
				}
			}
			progress := newProgressLine(c.ErrOrStderr())
			defer progress.clear()
			path, err := kbp.Build(c.Context(), target, func(what string) { progress.at(what, "") })
			if err != nil {
				return err
			}
			progress.clear()
			terminal.Println(c.OutOrStdout(), path)
			return nil
		},
	}
	c.Flags().StringVar(&laboratory, "laboratory", "", "build for a kernel of the virtual laboratory: debian, debian12, debian13")
	return c
}

func newKbpModuleLoadCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "load",
		Short: "Load the module and wait until it is in effect",
		Long: `Load the module that was built for the running kernel, and wait until the live patch is
in effect: the kernel must have seen every thread outside the functions it replaces,
which takes some seconds. Ctrl-C unloads it again. If the module is loaded already,
nothing happens.`,
		Example: `  nines kbp module load
  nines kbp module load --file ./nines_kbp.ko`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if file == "" {
				var err error
				if file, err = kbp.Loadable(); err != nil {
					return err
				}
			}
			progress := newProgressLine(c.ErrOrStderr())
			defer progress.clear()
			return kbp.Load(c.Context(), file, func(what string) { progress.at(what, "") })
		},
	}
	c.Flags().StringVar(&file, "file", "", "a module that was built elsewhere")
	return c
}

func newKbpModuleStatusCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "status",
		Short: "Show whether the module is built and loaded, and how many threads poll",
		Example: `  nines kbp module status
  nines kbp module status --format json | jq -r .state`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			status, err := kbp.ReadStatus()
			if err != nil {
				return err
			}
			if format == "json" {
				return command.WriteJSON(c.OutOrStdout(), status)
			}
			return status.Write(c.OutOrStdout())
		},
	}
	command.FormatFlag(c, &format)
	return c
}

func newKbpModuleUnloadCommand() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "unload",
		Short: "Stop the module's polling and unload it",
		Long: `Disable the live patch and unload the module, which takes some seconds. nines refuses
while threads of labs or of nines kbp start poll through it. --force gives their devices
back to the kernel's softirqs first. If the module is not loaded, nothing happens.`,
		Example: `  nines kbp module unload
  nines kbp module unload --force`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			threads, err := kbp.Threads()
			if err != nil {
				return err
			}
			if len(threads) > 0 && !force {
				return fmt.Errorf("%d threads poll through the module: end them first (nines kbp stop, nines down), or use --force", len(threads))
			}
			progress := newProgressLine(c.ErrOrStderr())
			defer progress.clear()
			return kbp.Unload(c.Context(), func(what string) { progress.at(what, "") })
		},
	}
	c.Flags().BoolVar(&force, "force", false, "unload even while threads poll")
	return c
}
