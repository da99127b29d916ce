package component

import (
	"context"
	"os"
	_ "time/tzdata" // a CronJob's time zone, on a host without zone files

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of the clients
	_ "k8s.io/component-base/metrics/prometheus/version"  // and of the version
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// Component is one of the programs. Run has its arguments in os.Args, as the programs read
// them there themselves, and returns its exit code.
type Component struct {
	Name string
	Run  func() int
}

// All lists the programs. The scheduler gets the plugins of options.
func All(options ...scheduler.Option) []Component {
	return []Component{
		{"etcd", func() int { etcdmain.Main(os.Args); return 0 }},
		{"kube-apiserver", func() int { return cli.Run(apiserver.NewAPIServerCommand()) }},
		{"kube-controller-manager", func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) }},
		{"kube-scheduler", func() int { return cli.Run(scheduler.NewSchedulerCommand(options...)) }},
		{"kubelet", func() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) }},
		{"kubectl", kubectl},
	}
}

// kubectl takes its verbosity before its flags are read, and prints its errors itself.
func kubectl() int {
	_, _ = logs.GlogSetter(cmd.GetLogVerbosity(os.Args)) // of the form that it has just checked
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err) // it ends the program
	}
	return 0
}
