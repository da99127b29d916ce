// Package redfish answers a part of Redfish (DMTF DSP0266) for the nodes of a lab: the service root,
// sessions, and the systems with their power actions and boot override. It is what fence_redfish,
// redfishtool, sushy (Ironic) and MAAS ask for.
//
//	/redfish/v1/                                         what there is; for strangers, too
//	/redfish/v1/SessionService/Sessions                  POST begins a session, with a token
//	/redfish/v1/Systems/NODE                             GET its state, PATCH its boot override
//	/redfish/v1/Systems/NODE/Actions/ComputerSystem.Reset
//
// Connections, sessions, requests and the memory for each are bounded, in all and for each address.
package redfish
