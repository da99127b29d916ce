// Package service runs the user's programs in a lab's nodes: the services of the experiment file. Each has a keeper, a
// process of its own outside of the node, which the lab's journal has. The keeper starts the service, keeps its output,
// sees when it is ready, and writes how it ended. The service ends with its keeper, and the keeper with its service.
package service
