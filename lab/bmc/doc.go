// Package bmc starts the process that answers IPMI and Redfish for the nodes of a lab, as the management
// controllers of machines do (packages power/ipmi and power/redfish), and finds out whether it has ended.
package bmc
