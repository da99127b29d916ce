package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nines.dev/nines/analyze"
	"nines.dev/nines/busypoll"
	"nines.dev/nines/cmd/nines/complete"
	"nines.dev/nines/image"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/report/figure"
	"nines.dev/nines/reproduce"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/vm/boot"
	"nines.dev/nines/vm/guestimage"
)

// argumentsOffered is what a shell offers for the arguments of each verb. A verb that takes none is not here.
func argumentsOffered() map[string]complete.Func {
	return map[string]complete.Func{
		"validate": complete.ExperimentFiles,
		"plan":     complete.InOrder(complete.ExperimentFiles),
		"up":       complete.InOrder(complete.ExperimentFiles),
		"apply":    complete.InOrder(complete.ExperimentFiles),
		"run":      complete.InOrder(complete.ExperimentFiles),
		"duet":     complete.InOrder(complete.ExperimentFiles, complete.ExperimentFiles),
		"vlab run": complete.InOrder(complete.ExperimentFiles),
		"try":      complete.Each(variants),
		"init":     complete.Then(complete.Nothing, complete.Each(variants)),
		"schema":   complete.InOrder(complete.Words("experiment", "summary")),

		"reproduce": complete.InOrder(papers),

		"down":    complete.InOrder(complete.LabsOrFiles),
		"inspect": complete.InOrder(complete.LabsOrFiles),
		"check":   complete.InOrder(complete.LabsOrFiles),
		"graph":   complete.InOrder(complete.LabsOrFiles),
		"watch":   complete.InOrder(complete.Labs),
		"bmc":     complete.InOrder(complete.Labs),
		"keep":    complete.InOrder(complete.Labs, complete.Nodes),

		"restart": complete.Each(complete.Together(complete.Nodes, complete.Services)),
		"stop":    complete.Each(complete.Nodes),
		"start":   complete.Each(complete.Nodes),
		"power":   complete.Each(complete.Together(complete.Nodes, complete.Words(powerWords()...), complete.Labs)),
		"exec":    complete.Then(complete.Nodes, complete.AnyFile),
		"ssh":     complete.Then(complete.Nodes, complete.AnyFile),
		"cp":      complete.InOrder(complete.FilesInNodes, complete.FilesInNodes),
		"shell":   complete.InOrder(complete.Nodes),
		"logs":    complete.InOrder(complete.Nodes, complete.Services),
		"capture": complete.Each(complete.Interfaces),

		"switch show":   complete.InOrder(complete.Switches),
		"switch ports":  complete.InOrder(complete.Switches),
		"switch macs":   complete.InOrder(complete.Switches),
		"switch mirror": complete.Each(complete.Together(complete.Switches, complete.Interfaces)),

		"image build":  complete.InOrder(complete.ExperimentFiles),
		"image import": complete.InOrder(complete.AnyFile),
		"image export": complete.InOrder(images, complete.Words(imageFormats()...), complete.AnyFile),
		"image rm":     complete.Each(images),

		"report":       complete.InOrder(complete.Results),
		"explain":      complete.InOrder(complete.Results),
		"expect":       complete.InOrder(complete.Results),
		"compare":      complete.InOrder(complete.Results, complete.Results),
		"figure":       complete.Each(complete.Results),
		"export":       complete.InOrder(complete.Results),
		"results show": complete.InOrder(complete.NamedResults),
		"results rm":   complete.Each(complete.NamedResults),

		"analyze":      complete.InOrder(captures, captures),
		"trace record": complete.AnyFile,
		"vlab exec":    complete.AnyFile,
		"vlab build":   complete.Each(complete.Words(guestimage.KernelNames()...)),
		"kbp status":   complete.Each(sessions),
		"kbp stop":     complete.Each(sessions),

		"cluster": complete.By(node.ClusterProgram),
	}
}

// flagsOffered is what a shell offers for the values of flags: by "VERB --FLAG", or by "--FLAG" where it is the same
// for all verbs. Numbers and times need no entry.
func flagsOffered() map[string]complete.Func {
	return map[string]complete.Func{
		"--lab":         complete.Labs,
		"--set":         complete.Sets(nil),
		"--out":         complete.Folders,
		"--format":      complete.Words("table", "json"),
		"--host":        complete.AnyFile,
		"--write":       complete.AnyFile,
		"--file":        complete.AnyFile,
		"--root":        complete.Folders,
		"--socket":      complete.AnyFile,
		"--kernel":      complete.Words(guestimage.KernelNames()...),
		"--trial":       complete.Trials,
		"--index":       complete.AnyFile,
		"--service":     complete.AnyFile, // a program of the user's
		"--leaves":      complete.Words(spec.LeavesNames()...),
		"--save":        complete.AnyFile,
		"--reference":   complete.Results,
		"--expect":      expectations,
		"--that":        expectations,
		"--from":        complete.ExperimentFiles,
		"--junit":       complete.AnyFile,
		"--markdown":    complete.AnyFile,
		"--annotations": complete.Words("github"),

		"plan --format":          complete.Words("table", "json"),
		"inspect --format":       complete.Words("table", "json", "ssh", "ansible", "hosts"),
		"graph --format":         complete.Words("svg", "mermaid", "dot"),
		"export --format":        complete.Words(exportFormats...),
		"export --series":        complete.Words("latency", "from_tx", "send_lag", "undisturbed"),
		"export --out":           complete.AnyFile,
		"results query --format": complete.Words("table", "json", "csv"),
		"report --out":           complete.AnyFile,
		"schema --out":           complete.AnyFile,
		"figure --out":           complete.AnyFile,
		"figure --kind":          complete.Words(figure.Kinds()...),
		"figure --format":        complete.Words(figure.Formats()...),
		"figure --repeats":       complete.Words(figure.RepeatsAuto, figure.RepeatsBand, figure.RepeatsLines, figure.RepeatsNone, figure.RepeatsEach),
		"figure --percentile":    complete.Words(figurePercentiles()...),
		"figure --trials":        complete.List(complete.Trials),
		"figure --where":         complete.Values,
		"figure --bins":          complete.Words("log", "linear"),
		"figure --panels":        complete.List(complete.Variables),
		"figure --group-by":      complete.List(complete.Variables),
		"figure --published":     complete.AnyFile,
		"figure --width":         complete.Words("column", "page"),

		"restart --service":         complete.Services,
		"switch mirror --direction": complete.Words("rx", "tx", "both"),

		"reproduce --claim":  claims,
		"reproduce --format": complete.Words("table", "json", "markdown"),
		"reproduce --from":   complete.Folders,
		"reproduce --papers": complete.Folders,

		"run --resume":         complete.Results,
		"duet --set":           complete.Sets(builtInDuet),
		"duet --a":             complete.Sets(builtInDuet),
		"duet --b":             complete.Sets(builtInDuet),
		"duet --ask":           complete.Words(spec.Asks()...),
		"compare --by":         complete.Values,
		"results ls --name":    complete.ExperimentNames,
		"results ls --var":     complete.Values,
		"results ls --verdict": complete.Words(result.Verdicts()...),

		"analyze --key":            complete.Words(analyze.Keys()...),
		"analyze --depth":          complete.Words("all"),
		"analyze --pre":            captures,
		"analyze --post":           captures,
		"analyze --pre-direction":  complete.Words("in", "out"),
		"analyze --post-direction": complete.Words("in", "out"),
		"analyze --page":           complete.AnyFile,
		"analyze --without":        complete.List(complete.Words(analyze.Files()...)),

		"host --record":  complete.AnyFile,
		"doctor --for":   complete.ExperimentFiles,
		"tune --for":     complete.ExperimentFiles,
		"tune --profile": complete.Words(spec.TuningLatency, spec.TuningRealtime, spec.TuningThroughput),
		"tune --cgroup":  complete.Words("v1", "v2"),

		"kbp start --netns":             complete.NamesIn(netns.Dir),
		"kbp start --rx":                complete.Words(spec.ReceiveBusyPoll, spec.ReceiveThreaded, spec.ReceiveAwake, spec.ReceiveSuspend),
		"kbp start --mechanism":         complete.Words(spec.PollAuto, spec.PollNetlink, spec.PollLivepatch, spec.PollIOUring, spec.PollEpoll),
		"kbp start --policy":            complete.Words("idle", "other", "batch", "fifo:", "rr:"),
		"kbp module build --laboratory": complete.Words("debian", "debian12", "debian13"),
		"vlab --cgroup":                 complete.Words(boot.Cgroups...),
		"vlab --copy":                   complete.AnyFile,
	}
}

// freeText are the flags whose values nobody can foresee, or only with a wait: asking every container manager takes
// long.
var freeText = []string{
	"--filter", "--env", "--cpus", "--append", "--rate", "--frame", "figure --source", "figure --height", "exec --dir", "explain --packet",
	"analyze --pre-interface", "analyze --post-interface", "analyze --pre-filter", "analyze --post-filter", "tune --boot",
	"trace --buffer", "kbp start --container", "kbp start --name", "kbp start --interface", "kbp start --cpu",
}

// captures offers what 'nines analyze' reads.
var captures = complete.Files("pcap", "pcapng", "mscap", "gz", "zst")

// expectations offers how those begin that are asked for most.
var expectations = complete.Words("p50 <", "p99 <", "p99.9 <", "undisturbed.p99 <", "loss == 0", "b.p99 <= 1.05 * a.p99")

// papers offers those in nines.
func papers(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var words []cobra.Completion
	list, _ := reproduce.Papers() // one that cannot be read is not offered
	for _, p := range list {
		words = append(words, p.ID+"\t"+p.Title)
	}
	return complete.Words(words...)(c, args, typed)
}

// claims offers those of the named paper.
func claims(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var words []cobra.Completion
	list, _ := reproduce.Papers()
	for _, p := range list {
		for _, one := range p.Claims {
			if slices.Contains(args, p.ID) {
				words = append(words, one.ID+"\t"+one.Text)
			}
		}
	}
	return complete.Words(words...)(c, args, typed)
}

// variants offers the words of nines try.
func variants(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var words []cobra.Completion
	for _, kind := range spec.LinkKinds() {
		words = append(words, string(kind)+"\t"+kind.Descriptor().Doc)
	}
	for _, runtime := range spec.Runtimes() {
		words = append(words, string(runtime)+"\t"+runtime.Descriptor().Doc)
	}
	return complete.Words(words...)(c, args, typed)
}

func images(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list, err := (image.Store{Dir: image.DefaultDir()}).List()
	if err != nil {
		return complete.Nothing(c, args, typed)
	}
	var names []cobra.Completion
	for _, e := range list {
		names = append(names, e.Name+"\t"+e.From)
	}
	return complete.Words(names...)(c, args, typed)
}

func imageFormats() (formats []string) {
	for _, f := range image.Formats {
		formats = append(formats, string(f.Format)+"\t"+f.Doc)
	}
	return formats
}

// sessions offers the names of nines kbp start.
func sessions(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list, err := busypoll.Sessions(state.Root())
	if err != nil {
		return complete.Nothing(c, args, typed)
	}
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	return complete.Words(names...)(c, args, typed)
}

// figurePercentiles are the words of nines figure --percentile.
func figurePercentiles() []string {
	names := []string{"min", "mean"}
	for _, p := range result.NamedPercentiles() {
		names = append(names, strings.ReplaceAll(p.Name, "_", "."))
	}
	return append(names, "max")
}

// addOffers gives all commands what a shell offers for them.
func addOffers(root *cobra.Command) {
	arguments, flags := argumentsOffered(), flagsOffered()
	for _, flag := range freeText {
		flags[flag] = complete.Nothing
	}
	for _, c := range everyCommand(root) {
		verb := verbOf(c)
		if c.ValidArgsFunction = arguments[verb]; c.ValidArgsFunction == nil {
			c.ValidArgsFunction = complete.Nothing
		}
		for _, set := range []*pflag.FlagSet{c.LocalNonPersistentFlags(), c.PersistentFlags()} {
			set.VisitAll(func(f *pflag.Flag) {
				if offered := offeredFor(flags, c, f); offered != nil {
					_ = c.RegisterFlagCompletionFunc(f.Name, offered) // fails only for an unknown flag
				}
			})
		}
	}
}

// offeredFor is what is offered for a flag: the verb's own, that of a verb above it, or that of all verbs. Of a number
// or a time nothing is; of what is not known, nil.
func offeredFor(flags map[string]complete.Func, c *cobra.Command, f *pflag.Flag) complete.Func {
	for at := c; at.HasParent(); at = at.Parent() {
		if offered := flags[verbOf(at)+" --"+f.Name]; offered != nil {
			return offered
		}
	}
	switch f.Value.Type() {
	case "int", "float64", "duration", "span":
		return complete.Nothing
	case "bool":
		return nil
	}
	return flags["--"+f.Name]
}

// verbOf is a command as a user types it, without nines.
func verbOf(c *cobra.Command) string {
	_, verb, _ := strings.Cut(c.CommandPath(), " ")
	return verb
}

// everyCommand lists a command and those below it.
func everyCommand(c *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{c}
	for _, below := range c.Commands() {
		list = append(list, everyCommand(below)...)
	}
	return list
}
