// Package login lets people log in to the nodes of a lab that has a management network, by SSH: the keys of the
// lab, of its nodes and of those who may log in, the servers in the nodes, and what a client needs to find them:
// ssh_config(5), an inventory for Ansible, and names.
package login
