package spec

import (
	"strings"
	"testing"
)

var someDigest = strings.Repeat("0a", 32)

func TestImagesAreNamed(t *testing.T) {
	for text, want := range map[string]ImageName{
		"frr":                                 {Name: "frr"},
		"oci:/srv/frr":                        {Form: ImageLayout, Path: "/srv/frr"},
		"oci:/srv/images:frr:10":              {Form: ImageLayout, Path: "/srv/images", Name: "frr:10"},
		"docker-archive:/srv/frr.tar":         {Form: ImageArchive, Path: "/srv/frr.tar"},
		"docker-archive:/srv/a.tar:frr:lates": {Form: ImageArchive, Path: "/srv/a.tar", Name: "frr:lates"},
		"rootfs:/srv/a:b.tar.xz":              {Form: ImageRootfs, Path: "/srv/a:b.tar.xz"},
		"lxc:/srv/debian":                     {Form: ImageLXC, Path: "/srv/debian"},
		"/srv/rootfs.tar.xz":                  {Form: ImagePath, Path: "/srv/rootfs.tar.xz"},
		"/srv/a:b":                            {Form: ImagePath, Path: "/srv/a:b"},
		"debian:12":                           {Form: ImageReference, Name: "debian:12"},
		"registry.example:5000/frr":           {Form: ImageReference, Name: "registry.example:5000/frr"},
		"[::1]:5000/a/b_c:10-x":               {Form: ImageReference, Name: "[::1]:5000/a/b_c:10-x"},
		"localhost/frr":                       {Form: ImageReference, Name: "localhost/frr"},
		"quay.io/frr@sha256:" + someDigest:    {Form: ImageReference, Name: "quay.io/frr@sha256:" + someDigest},
	} {
		got, err := ParseImage(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if got.String() != text {
			t.Errorf("%s is written as %s", text, got)
		}
	}
	for text, want := range map[string]string{
		"docker://debian:12":    `begins with docker://; write only debian:12`,
		"-debian:12":            "neither the name of an image",
		"debian:12 ":            "neither the name of an image",
		"registry.example//frr": "neither the name of an image",
		"./rootfs.tar":          "absolute path",
		"/srv/../etc/x.tar":     `write "/etc/x.tar"`,
		"oci:srv":               "absolute path",
		"oci:":                  "absolute path",
		"oci:/srv/../etc":       `write "/etc"`,
		"rootfs:/":              "the host's root folder",
		"Frr":                   "neither the name of an image that nines has nor one in a registry",
	} {
		if got, err := ParseImage(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func TestAnImageIsOfAnOCINode(t *testing.T) {
	for keys, want := range map[string]string{
		"runtime: oci": "the node has no image",
		"image: frr":   "netns nodes have no image",
		"runtime: lxc, image: frr, rootfs: {kind: debian}":    "the node's files are those of its image",
		"runtime: lxc, image: frr, driver: podman":            "lxc nodes have no driver",
		"runtime: oci, image: frr, rootfs: {kind: debian}":    "the files of an oci node are its image's",
		"runtime: oci, image: frr, init: nines, command: [x]": "starts nothing",
		"runtime: oci, image: debian:12":                      "the driver runc cannot reach one",
		"runtime: oci, image: debian:12, driver: crun":        "write driver: podman, docker or containerd; or fetch and import it: skopeo copy docker://debian:12",
		"runtime: lxc, image: quay.io/frr":                    "lxc nodes cannot reach; ",
		"runtime: oci, image: frr, command: [\"\"]":           "the program's name is empty",
		"runtime: oci, image: frr, driver: rkt":               "containerd",
	} {
		_, err := experimentOf("name: x\ntopology: {nodes: {a: {" + keys + "}}}\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", keys, err)
		}
	}
	for from, want := range map[string]string{"distrobuilder:/srv/made.yaml": "", "distrobuilder:made.yaml": "", "distrobuilder:~/made.yaml": "not an absolute path", "distrobuilder:": "not an absolute path", "distrobuilder:/": "not an image", "debian:12": "nines builds without one; fetch and import it", "/srv/rootfs.tar": "", "rootfs.tar.zst": "", "../made": "", "quay.io/made": "nines builds without one"} {
		_, err := experimentOf("name: x\nimages: {i: {from: \"" + from + "\"}}\ntopology: {nodes: {a: {runtime: lxc, image: i}}}\n")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("from %s: %v", from, err)
		}
	}
	beside, err := Load("/srv/lab.yaml", []byte("name: x\nimages: {i: {from: \"distrobuilder:made/deb.yaml\"}}\ntopology: {nodes: {a: {runtime: lxc, image: i}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if e, err := beside.Experiment(); err != nil || e.Images["i"].Definition() != "/srv/made/deb.yaml" {
		t.Errorf("the definition beside the file is %+v: %v", e, err)
	}
	for from, want := range map[string]string{"rootfs.tar": "/srv/rootfs.tar", "../made": "/made", "./made": "/srv/made", "/made.tgz": "/made.tgz", "made": "made"} {
		beside, err := Load("/srv/lab.yaml", []byte("name: x\nimages: {i: {from: \""+from+"\"}}\ntopology: {nodes: {a: {runtime: lxc, image: i}}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if e, err := beside.Experiment(); err != nil || e.Images["i"].From != want {
			t.Errorf("from %s is %+v: %v", from, e, err)
		}
	}
	e, err := experimentOf("name: x\ntopology: {nodes: {a: {runtime: oci, image: frr, command: [sleep, 1]}}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if a := e.Topology.Nodes["a"]; a.Driver != DriverRunc || a.Init != InitOfImage || a.Command[1] != "1" {
		t.Errorf("the defaults are %+v", a)
	}
}

func experimentOf(text string) (*Experiment, error) {
	f, err := Load("lab.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	return f.Experiment()
}

// FuzzImageName: what is an image's name is written as it was, and is no option of a program.
func FuzzImageName(f *testing.F) {
	for _, text := range []string{"frr", "oci:/srv/frr:a", "rootfs:/a:b", "lxc:/srv/x", "/srv/x:y.tar", "registry.example:5000/a/b:10", "debian@sha256:" + someDigest, "[::1]/a", "-x:1", "a:b c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseImage(text)
		if err != nil {
			return
		}
		if n.String() != text && n.String()+":" != text { // "oci:/srv/frr:" names the only one, too
			t.Errorf("%q is %+v, and written as %q", text, n, n)
		}
		if n.Form == ImageReference && (strings.HasPrefix(text, "-") || strings.ContainsAny(text, " \n\x00")) {
			t.Errorf("%q is %+v", text, n)
		}
	})
}
