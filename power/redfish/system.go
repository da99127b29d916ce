package redfish

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"nines.dev/nines/power"
)

const systemsPath = "/redfish/v1/Systems"

// resets are the types of a reset (Resource.ResetType of DSP8010), in the order in which they are told.
var resets = []struct {
	name   string
	action power.Action
}{
	{"On", power.On}, {"ForceOn", power.On}, {"ForceOff", power.Off}, {"GracefulShutdown", power.Soft},
	{"ForceRestart", power.Reset}, {"GracefulRestart", power.Restart}, {"PowerCycle", power.Cycle}, {"Nmi", power.Diag},
}

// devices are the boot devices with their numbers in IPMI (power.Boot).
var devices = []struct {
	name   string
	number uint8
}{{"None", 0}, {"Pxe", 1}, {"Hdd", 2}, {"Cd", 5}, {"BiosSetup", 6}}

func deviceNames() []string {
	var all []string
	for _, d := range devices {
		all = append(all, d.name)
	}
	return all
}

func collection(path, kind, name string, members []object) object {
	return object{"@odata.id": path, "@odata.type": kind, "Name": name, "Members@odata.count": len(members), "Members": members}
}

func (s *service) listSystems(w http.ResponseWriter, _ *http.Request) {
	members := []object{}
	for _, node := range s.Nodes {
		members = append(members, link(systemsPath+"/"+node))
	}
	answer(w, http.StatusOK, collection(systemsPath, "#ComputerSystemCollection.ComputerSystemCollection", "Nodes of the lab", members))
}

// node is the node that a request is about; false if it has been answered.
func (s *service) node(w http.ResponseWriter, r *http.Request) (string, bool) {
	node := r.PathValue("node")
	if !slices.Contains(s.Nodes, node) {
		fail(w, http.StatusNotFound, "ResourceMissingAtURI", fmt.Sprintf("node %q does not exist; the nodes are %s", node, strings.Join(s.Nodes, ", ")))
		return "", false
	}
	return node, true
}

// system is a node as a resource.
func (s *service) system(node string) (object, error) {
	state, err := s.Control.State(node)
	if err != nil {
		return nil, err
	}
	on := "Off"
	if state.On {
		on = "On"
	}
	var allowed []string
	for _, reset := range resets {
		can, err := s.Control.Can(node, reset.action)
		if err != nil {
			return nil, err
		}
		if can {
			allowed = append(allowed, reset.name)
		}
	}
	boot := s.Control.Boot(node)
	enabled, target, mode := "Disabled", "None", "Legacy"
	if boot.UEFI {
		mode = "UEFI"
	}
	if boot.Device != 0 {
		enabled = "Once"
		if boot.Always {
			enabled = "Continuous"
		}
		target = "None" // one that only IPMI names
		for _, d := range devices {
			if d.number == boot.Device {
				target = d.name
			}
		}
	}
	path := systemsPath + "/" + node
	return object{
		"@odata.id": path, "@odata.type": "#ComputerSystem.v1_10_0.ComputerSystem",
		"Id": node, "Name": node, "HostName": node, "SystemType": "Virtual", "PowerState": on,
		"Status": object{"State": map[bool]string{true: "Enabled", false: "StandbyOffline"}[state.On], "Health": "OK"},
		"Boot": object{
			"BootSourceOverrideEnabled": enabled, "BootSourceOverrideTarget": target, "BootSourceOverrideMode": mode,
			"BootSourceOverrideTarget@Redfish.AllowableValues": deviceNames(),
		},
		"Actions": object{"#ComputerSystem.Reset": object{
			"target": path + "/Actions/ComputerSystem.Reset", "ResetType@Redfish.AllowableValues": allowed,
		}},
	}, nil
}

func tagOf(resource object) string {
	text, err := json.Marshal(resource)
	if err != nil {
		return `""` // impossible for what is made here
	}
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

func (s *service) showSystem(w http.ResponseWriter, r *http.Request) {
	node, ok := s.node(w, r)
	if !ok {
		return
	}
	resource, err := s.system(node)
	if err != nil {
		fail(w, http.StatusInternalServerError, "InternalError", err.Error())
		return
	}
	w.Header().Set("ETag", tagOf(resource))
	answer(w, http.StatusOK, resource)
}

// changeSystem sets the boot override.
func (s *service) changeSystem(w http.ResponseWriter, r *http.Request) {
	node, ok := s.node(w, r)
	if !ok {
		return
	}
	var asked struct {
		Boot *struct {
			Enabled *string `json:"BootSourceOverrideEnabled"`
			Target  *string `json:"BootSourceOverrideTarget"`
			Mode    *string `json:"BootSourceOverrideMode"`
		}
	}
	if !body(w, r, &asked) {
		return
	}
	if asked.Boot == nil {
		fail(w, http.StatusBadRequest, "PropertyMissing", "only Boot can be changed, and it is missing")
		return
	}
	resource, err := s.system(node)
	if err != nil {
		fail(w, http.StatusInternalServerError, "InternalError", err.Error())
		return
	}
	if tag := r.Header.Get("If-Match"); tag != "" && tag != "*" && tag != tagOf(resource) {
		fail(w, http.StatusPreconditionFailed, "PreconditionFailed", "the node has changed since it was read; read it again")
		return
	}
	boot := s.Control.Boot(node)
	if target := asked.Boot.Target; target != nil {
		at := -1
		for i, d := range devices {
			if d.name == *target {
				at = i
			}
		}
		if at < 0 {
			fail(w, http.StatusBadRequest, "PropertyValueNotInList", fmt.Sprintf("BootSourceOverrideTarget %q is not among the allowable values", *target))
			return
		}
		boot.Device = devices[at].number
	}
	if mode := asked.Boot.Mode; mode != nil {
		if *mode != "Legacy" && *mode != "UEFI" {
			fail(w, http.StatusBadRequest, "PropertyValueNotInList", fmt.Sprintf("BootSourceOverrideMode is %q; allowed: Legacy, UEFI", *mode))
			return
		}
		boot.UEFI = *mode == "UEFI"
	}
	if enabled := asked.Boot.Enabled; enabled != nil {
		switch *enabled {
		case "Once":
			boot.Always = false
		case "Continuous":
			boot.Always = true
		case "Disabled":
			boot = power.Boot{}
		default:
			fail(w, http.StatusBadRequest, "PropertyValueNotInList", fmt.Sprintf("BootSourceOverrideEnabled is %q; allowed: Once, Continuous, Disabled", *enabled))
			return
		}
	}
	s.Control.SetBoot(node, boot)
	w.WriteHeader(http.StatusNoContent)
}

func (s *service) reset(w http.ResponseWriter, r *http.Request) {
	node, ok := s.node(w, r)
	if !ok {
		return
	}
	var asked struct{ ResetType string }
	if !body(w, r, &asked) {
		return
	}
	if asked.ResetType == "" {
		fail(w, http.StatusBadRequest, "ActionParameterMissing", "ResetType is missing")
		return
	}
	for _, reset := range resets {
		if reset.name != asked.ResetType {
			continue
		}
		err := s.Control.Do(node, reset.action, "Redfish from "+sourceOf(r))
		switch {
		case err == nil:
			w.WriteHeader(http.StatusNoContent)
		case errors.Is(err, power.ErrBusy):
			w.Header().Set("Retry-After", "1")
			fail(w, http.StatusServiceUnavailable, "ResourceInUse", err.Error())
		case errors.Is(err, power.ErrRefused):
			fail(w, http.StatusBadRequest, "ActionParameterNotSupported", fmt.Sprintf("node %s has no %s, as it has no kernel of its own", node, reset.name))
		default:
			fail(w, http.StatusInternalServerError, "InternalError", err.Error())
		}
		return
	}
	fail(w, http.StatusBadRequest, "ActionParameterValueNotInList", fmt.Sprintf("ResetType %q is not among the allowable values", asked.ResetType))
}
