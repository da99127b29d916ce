// Command nines-node connects a virtual machine with its node. In the guest it sets up the
// interfaces (setup) and their receive modes (receive), prints what they are (inspect) and what receives there
// (received), follows packets through the kernel (stages), joins the engine's control socket to a virtio-serial port (relay), lets scripts reach nines (scripts),
// and people log in (sshd). On the host it runs a command in the guest (enter): it
// stands for that command, as nines-init does for other nodes, with its input, output,
// terminal and exit code.
//
// It does not use the C library, so that it runs in any guest.
package main

import (
	"fmt"
	"os"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/receive"
	"nines.dev/nines/measure/trace"
)

const usage = `usage: nines-node enter --machine FILE [--group] [--dir DIR] [--env NAME=VALUE]... -- COMMAND [ARGUMENT]...
       nines-node setup < PLAN
       nines-node inspect
       nines-node receive < NODE
       nines-node received < RECORDS
       nines-node stages < PACKETS
       nines-node relay
       nines-node scripts FOLDER
       nines-node sshd --address ADDRESS:PORT --folder FOLDER
`

// The exit codes of nines-node's own failures, as in env(1).
const (
	exitUsage     = 2
	exitFailed    = 125
	exitCannotRun = 126
	exitNotFound  = 127
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(exitUsage)
	}
	var err error
	switch os.Args[1] {
	case "enter":
		os.Exit(enter(os.Args[2:]))
	case "setup":
		err = setup(os.Stdin, os.Stdout)
	case "inspect":
		err = inspect(os.Stdout)
	case receive.GuestSetUp:
		err = setUpReceiving(os.Stdin, os.Stdout)
	case receive.GuestNow:
		err = received(os.Stdin, os.Stdout)
	case trace.GuestVerb:
		err = trace.FollowInside(os.Stdin, os.Stdout)
	case "relay":
		err = relay()
	case "sshd":
		err = sshd(os.Args[2:])
	case "scripts":
		err = scripts(os.Args[2:])
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(exitUsage)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "nines-node:", err)
		if exit.Code(err) == exit.Lacks {
			os.Exit(exit.Lacks)
		}
		os.Exit(exitFailed)
	}
}
