package link

import (
	"os"

	"nines.dev/nines/exit"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// ovnPrograms are the paths of OVN's programs and of its databases' schemas.
type ovnPrograms struct {
	ovsPrograms
	northd, controller, nbctl, sbctl, appctl string
	northSchema, southSchema                 string
}

const ovnRemedy = "apt-get install ovn-central ovn-host, or choose another link kind"

// ovnSchemas are the folders in which distributions, and OVN's own make install, put the schemas.
var ovnSchemas = []string{"/usr/share/ovn/", "/usr/local/share/ovn/"}

func findOVN(k spec.LinkKind) (ovnPrograms, error) {
	var p ovnPrograms
	var err error
	if p.ovsPrograms, err = findAnyOVS(k, ovnRemedy); err != nil {
		return p, err
	}
	for _, program := range []struct {
		path *string
		name string
	}{
		{&p.northd, "ovn-northd"}, {&p.controller, "ovn-controller"}, {&p.nbctl, "ovn-nbctl"}, {&p.sbctl, "ovn-sbctl"}, {&p.appctl, "ovs-appctl"},
	} {
		*program.path, err = Find(string(k), ovnRemedy, program.name, "/usr/bin/"+program.name, "/usr/sbin/"+program.name)
		if err != nil {
			return p, err
		}
	}
	if p.northSchema, err = findSchema(k, "ovn-nb.ovsschema"); err == nil {
		p.southSchema, err = findSchema(k, "ovn-sb.ovsschema")
	}
	return p, err
}

func findSchema(k spec.LinkKind, name string) (string, error) {
	for _, folder := range ovnSchemas {
		if _, err := os.Stat(folder + name); err == nil {
			return folder + name, nil
		}
	}
	return "", &exit.MissingError{
		Capability: string(k), Reason: "there is no " + name + " in " + ovnSchemas[0], Remedy: ovnRemedy,
	}
}

func checkOVN(l plan.Link) error {
	_, err := findOVN(l.Kind)
	return err
}
