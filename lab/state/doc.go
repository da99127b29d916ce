// Package state is the folder in which a lab keeps its own state, <root>/labs/<name>, where
// <root> is /run/nines or NINES_STATE_DIR:
//
//	journal.jsonl    what was made on the host (package journal)
//	experiment.yaml  the file that the lab was made from, as it was written
//	plan.json        the plan that the lab follows
//	settings.json    what was set on devices and why it counts; written last, so a
//	                 lab without it was never finished
//	sysctls.json     the nodes' planned sysctls, as the kernel says them
//	measured.json    the process that measures the lab, if one does
//	lock             held (flock) while a process changes the lab, or measures it
//	door.sock        where others ask the process that measures the lab to change nodes
//	engines/NODE/    the control socket of the engine that serves the node's app
//	logs/            those engines' logs
//	lxc/             LXC's configuration and the root file systems of containers
//
// It knows the names of all files, who may read them, the locks, and the errors of a lab that is not
// there, is busy, or does not fit on the disk.
package state
