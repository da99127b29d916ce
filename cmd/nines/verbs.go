package main

import "github.com/spf13/cobra"

// verbs lists the commands; each has a file of its own.
func verbs() []*cobra.Command {
	return []*cobra.Command{
		newApplyCommand(),
		newCaptureCommand(),
		newCompareCommand(),
		newDownCommand(),
		newExecCommand(),
		newGraphCommand(),
		newHostCommand(),
		newInspectCommand(),
		newListCommand(),
		newPlanCommand(),
		newReportCommand(),
		newRunCommand(),
		newSchemaCommand(),
		newShellCommand(),
		newSwitchCommand(),
		newUpCommand(),
		newValidateCommand(),
	}
}
