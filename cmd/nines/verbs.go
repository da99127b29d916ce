package main

import "github.com/spf13/cobra"

// verbs lists the commands; each has a file of its own.
func verbs() []*cobra.Command {
	return []*cobra.Command{
		newAnalyzeCommand(),
		newApplyCommand(),
		newCaptureCommand(),
		newCompareCommand(),
		newDoctorCommand(),
		newDownCommand(),
		newExecCommand(),
		newExplainCommand(),
		newExportCommand(),
		newFigureCommand(),
		newGraphCommand(),
		newHostCommand(),
		newInspectCommand(),
		newKbpCommand(),
		newListCommand(),
		newPlanCommand(),
		newReportCommand(),
		newResultsCommand(),
		newRunCommand(),
		newSchemaCommand(),
		newShellCommand(),
		newSwitchCommand(),
		newTraceCommand(),
		newTuneCommand(),
		newUpCommand(),
		newValidateCommand(),
		newVlabCommand(),
	}
}
