// Package ended finds out where packets of an engine end that do not arrive, and why: by the reasons that the kernel gives
// when it drops them. It is used while probes are sent, never in a measured trial.
package ended
