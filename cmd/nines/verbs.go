package main

import "github.com/spf13/cobra"

// verbGroup is a heading of `nines --help` and its commands.
type verbGroup struct {
	id, title string
	verbs     []*cobra.Command
}

// verbGroups lists the commands in the order of the work; each command has its own file.
func verbGroups() []verbGroup {
	return []verbGroup{
		{"build", "Build a network:", []*cobra.Command{
			newInitCommand(),
			newValidateCommand(),
			newPlanCommand(),
			newUpCommand(),
			newApplyCommand(),
			newRestartCommand(),
			newStopCommand(),
			newStartCommand(),
			newPowerCommand(),
			newDownCommand(),
			newListCommand(),
			newInspectCommand(),
			newCheckCommand(),
			newExecCommand(),
			newShellCommand(),
			newCpCommand(),
			newLogsCommand(),
			newSSHCommand(),
			newGraphCommand(),
			newImageCommand(),
			newSwitchCommand(),
			newSchemaCommand(),
			newWatchCommand(),
			newKeepCommand(),
			newBMCCommand(),
		}},
		{"measure", "Measure:", []*cobra.Command{
			newTryCommand(),
			newRunCommand(),
			newDuetCommand(),
			newCaptureCommand(),
			newAnalyzeCommand(),
			newTraceCommand(),
			newReproduceCommand(),
		}},
		{"read", "Read results:", []*cobra.Command{
			newReportCommand(),
			newExplainCommand(),
			newCompareCommand(),
			newExpectCommand(),
			newFigureCommand(),
			newExportCommand(),
			newResultsCommand(),
		}},
		{"host", "Prepare the host:", []*cobra.Command{
			newHostCommand(),
			newDoctorCommand(),
			newTuneCommand(),
			newKbpCommand(),
		}},
		{"laboratory", "Laboratory and cluster:", []*cobra.Command{
			newVlabCommand(),
			newClusterCommand(),
			newVersionCommand(),
		}},
	}
}

// addVerbs adds every verb to the root command, under its group's heading.
func addVerbs(root *cobra.Command) {
	cobra.EnableCommandSorting = false // the groups are in the order of the work
	for _, group := range verbGroups() {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, verb := range group.verbs {
			verb.GroupID = group.id
			root.AddCommand(verb)
		}
	}
}
