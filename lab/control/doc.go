// Package control is the control socket of a lab that is measured. The lab is locked by the process that measures
// it, which takes requests there from those who restart, stop, start or switch nodes. Only root reaches the socket,
// which is in the lab's folder. One request and one answer a connection, as JSON.
package control
