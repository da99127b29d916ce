package local_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nines.dev/nines/cluster/dra"
	"nines.dev/nines/cluster/local"
	"nines.dev/nines/cluster/local/inside"
	"nines.dev/nines/test/labtest"
)

// besideDranet has ports on one of the node's interfaces; dranet has the others.
const besideDranet = `ports:
- {tier: macvlan, parent: card, count: 2, nodes: [n1]}
`

// withoutOurs has dranet leave out what ports of ours are made on, and veths, as it does by itself.
const withoutOurs = `!("nines.dev/ports" in attributes) && (!("dra.net/type" in attributes) || attributes["dra.net/type"].StringValue != "veth")`

// TestDranetHasOurFigures has dranet give interfaces of a node to pods beside the driver of ports.
//
//	n1: card ── macvlan ── pod, by ports.nines.dev
//	    mac0 ──────────── pod, by dra.net, as it was measured to be fast
func TestDranetHasOurFigures(t *testing.T) {
	labtest.LongForm(t)
	c := newCluster(t)
	_, err := os.Stat(filepath.Join(programs(t), "dranet"))
	labtest.Require(t, "dranet (NINES_LONG=1 make setup-cluster)", err == nil)
	file := filepath.Join(t.TempDir(), "ports.yaml")
	if err := os.WriteFile(file, []byte(besideDranet), 0o600); err != nil {
		t.Fatal(err)
	}
	c.must("up", "--nodes", "1", "--ports", file, "--name", c.name)
	ip := func(arguments ...string) { c.inNode("n1", true, append([]string{"ip", "link"}, arguments...)...) }
	for _, name := range []string{"card", "below"} {
		ip("add", name, "type", "bridge")
		ip("set", name, "up")
	}
	ip("add", "link", "below", "name", "mac0", "type", "macvlan", "mode", "bridge")
	ip("set", "mac0", "up")
	c.measured("n1", 50*time.Microsecond)
	_, err = c.client().ResourceV1().DeviceClasses().Create(t.Context(), &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "dranet"}, Spec: resourcev1.DeviceClassSpec{Selectors: expressions(`device.driver == "dra.net"`)},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.template("fast-dranet", "dranet", `device.attributes["nines.dev"].?p9999Ns.orValue(1000000000) <= 100000`)
	c.template("ours", "macvlan.nines.dev")

	stop := c.dranet(withoutOurs)
	c.publishes("dra.net", "mac0", func(d resourcev1.Device) error {
		tier, p := d.Attributes["nines.dev/tier"], d.Attributes["nines.dev/p9999Ns"]
		if tier.StringValue == nil || *tier.StringValue != "macvlan" || p.IntValue == nil || *p.IntValue != 50_000 {
			return fmt.Errorf("%w: it says %+v", errNotYet, d.Attributes)
		}
		return nil
	})
	c.publishesNot("dra.net", "card")
	c.publishes(dra.DriverName, "macvlan-card-1", nil)

	c.withPort("theirs", "n1", "fast-dranet")
	c.withPort("ours", "n1", "ours")
	c.running("theirs")
	c.running("ours")
	for pod, device := range map[string]string{"theirs": "mac0", "ours": "net1"} {
		c.kubectl("exec", pod, "--", "ip", "link", "show", device)
	}
	c.explains("theirs", "it has mac0") // dranet does not publish what is in a pod
	c.gone("theirs", "ours")
	eventually(t, "the node has its interface back", func(context.Context) error {
		return exec.Command("nsenter", "--target", fmt.Sprint(c.nodePID("n1")), "--net", "--", "ip", "link", "show", "mac0").Run()
	})

	// Without the filter, dranet offers what our ports are made on: we do not.
	stop()
	stop = c.dranet("true")
	c.publishes("dra.net", "card", nil)
	c.publishesNot(dra.DriverName, "macvlan-card-1")
	stop()
	stop = c.dranet(withoutOurs)
	c.publishesNot("dra.net", "card")
	c.publishes(dra.DriverName, "macvlan-card-1", nil)
	stop()
	c.noPortsLeft("n1")
}

// dranet runs dranet on n1 until it is stopped.
func (c *cluster) dranet(filter string) (stop func()) {
	c.t.Helper()
	access := regexp.MustCompile(`server: .*`).ReplaceAllString(c.kubectl("config", "view", "--raw", "--flatten"), "server: https://"+local.APIService.String())
	c.inNode("n1", true, "sh", "-c", `umask 077; echo "$1" > /run/dranet.access`, "sh", access)
	log, err := os.Create(filepath.Join(c.t.TempDir(), "dranet.log"))
	if err != nil {
		c.t.Fatal(err)
	}
	// Its first process in the node is the shell, which then is dranet.
	command := exec.Command("nsenter", "--target", fmt.Sprint(c.nodePID("n1")), "--mount", "--net", "--pid", "--",
		"sh", "-c", `echo $$ > /run/dranet.pid; exec "$0" "$@"`, filepath.Join(inside.Programs, "dranet"), "--v=2",
		"--kubeconfig", "/run/dranet.access", "--hostname-override", "n1", "--cloud-provider-hint", "webhook", "--webhook-url", "unix://"+dra.DranetSocket, "--filter", filter)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		c.t.Fatal(err)
	}
	stop = func() {
		c.inNode("n1", true, "sh", "-c", "kill $(cat /run/dranet.pid)")
		_ = command.Wait() // it was ended
		_ = log.Close()
	}
	c.t.Cleanup(func() {
		if text, err := os.ReadFile(log.Name()); err == nil && c.t.Failed() {
			c.t.Logf("dranet: %s", text)
		}
	})
	return stop
}

// publishes waits until a driver offers a device that is as it should be.
func (c *cluster) publishes(driver, name string, as func(resourcev1.Device) error) {
	c.t.Helper()
	eventually(c.t, driver+" offers "+name, func(ctx context.Context) error {
		d, err := c.device(ctx, driver, name)
		switch {
		case err != nil:
			return err
		case d == nil:
			return errNotYet
		case as != nil:
			return as(*d)
		}
		return nil
	})
}

// publishesNot waits until a driver, which offers something, does not offer a device.
func (c *cluster) publishesNot(driver, name string) {
	c.t.Helper()
	eventually(c.t, driver+" does not offer "+name, func(ctx context.Context) error {
		d, err := c.device(ctx, driver, name)
		if err == nil && d != nil {
			err = errNotYet
		}
		return err
	})
}

// device is one that a driver offers; nil for none.
func (c *cluster) device(ctx context.Context, driver, name string) (*resourcev1.Device, error) {
	slices, err := c.client().ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{FieldSelector: "spec.driver=" + driver})
	if err != nil {
		return nil, err
	}
	if len(slices.Items) == 0 {
		return nil, fmt.Errorf("%w: %s has no slices", errNotYet, driver)
	}
	for _, s := range slices.Items {
		for i, d := range s.Spec.Devices {
			if d.Name == name {
				return &s.Spec.Devices[i], nil
			}
		}
	}
	return nil, nil
}

func expressions(texts ...string) (list []resourcev1.DeviceSelector) {
	for _, text := range texts {
		list = append(list, resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: text}})
	}
	return list
}

// template makes a template of claims for one device of a class.
func (c *cluster) template(name, class string, selectors ...string) {
	c.t.Helper()
	_, err := c.client().ResourceV1().ResourceClaimTemplates("default").Create(c.t.Context(), &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
			{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class, Selectors: expressions(selectors...)}},
		}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
}
