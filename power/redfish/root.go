package redfish

import (
	"io"
	"log"
	"net/http"
)

var discard = log.New(io.Discard, "", 0)

func (s *service) versions(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, object{"v1": "/redfish/v1/"})
}

func (s *service) root(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, object{
		"@odata.id": "/redfish/v1/", "@odata.type": "#ServiceRoot.v1_5_0.ServiceRoot",
		"Id": "RootService", "Name": "Power control of a nines lab's nodes", "RedfishVersion": "1.6.0",
		"Systems": link("/redfish/v1/Systems"), "SessionService": link("/redfish/v1/SessionService"),
		"Links": object{"Sessions": link("/redfish/v1/SessionService/Sessions")},
	})
}

func (s *service) odata(w http.ResponseWriter, _ *http.Request) {
	entry := func(name, url string) object { return object{"name": name, "kind": "Singleton", "url": url} }
	answer(w, http.StatusOK, object{
		"@odata.context": "/redfish/v1/$metadata",
		"value": []object{
			entry("Service", "/redfish/v1/"), entry("Systems", "/redfish/v1/Systems"),
			entry("SessionService", "/redfish/v1/SessionService"), entry("Sessions", "/redfish/v1/SessionService/Sessions"),
		},
	})
}

// schemas refers to DMTF's schemas of the resources here.
const schemas = `<?xml version="1.0" encoding="UTF-8"?>
<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0">
  <edmx:Reference Uri="http://redfish.dmtf.org/schemas/v1/ServiceRoot_v1.xml"><edmx:Include Namespace="ServiceRoot"/></edmx:Reference>
  <edmx:Reference Uri="http://redfish.dmtf.org/schemas/v1/ComputerSystemCollection_v1.xml"><edmx:Include Namespace="ComputerSystemCollection"/></edmx:Reference>
  <edmx:Reference Uri="http://redfish.dmtf.org/schemas/v1/ComputerSystem_v1.xml"><edmx:Include Namespace="ComputerSystem"/></edmx:Reference>
  <edmx:Reference Uri="http://redfish.dmtf.org/schemas/v1/SessionService_v1.xml"><edmx:Include Namespace="SessionService"/></edmx:Reference>
  <edmx:Reference Uri="http://redfish.dmtf.org/schemas/v1/SessionCollection_v1.xml"><edmx:Include Namespace="SessionCollection"/></edmx:Reference>
  <edmx:Reference Uri="http://redfish.dmtf.org/schemas/v1/Session_v1.xml"><edmx:Include Namespace="Session"/></edmx:Reference>
</edmx:Edmx>
`

func (s *service) metadata(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/xml")
	_, _ = io.WriteString(w, schemas)
}
