// Package lab turns a plan into a running network, a lab, and removes it again.
//
// Up makes the nodes and links of a plan, Apply changes a running lab into another plan, Down
// removes it. A lab outlives the process that made it: all information about it is in its state
// folder, <root>/labs/<name>, where <root> is /run/nines or NINES_STATE_DIR:
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
//	engines/         control sockets of the engines that serve an app
//	logs/            those engines' logs
//	lxc/             LXC's configuration and the root file systems of containers
//
// A lab is changed by one process at a time; different labs do not wait for each other. One process
// at a time measures (BeginMeasurement). Up, Apply and Down may be killed at any point: Down, or
// the next Up of the same name, removes what exists. Everything here needs root.
package lab
