package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/vm"
	"nines.dev/nines/vm/guestagent"
)

// attachTo begins a session with a guest, unless its QEMU ends before.
func attachTo(ctx context.Context, config vm.Config, qemu proc.Identity, patience time.Duration) (*vm.Machine, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it gave no session within %v", patience))
	defer cancel()
	alive, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		if qemu.AwaitEnd(alive) == nil {
			end(errors.New("QEMU has ended"))
		}
	}()
	return vm.Attach(alive, config)
}

// machineConfig is what a machine was started with.
func (p Place) machineConfig(nodeName string) (config vm.Config, err error) {
	if config, err = replace.Read[vm.Config](p.machineFile(nodeName)); err != nil {
		return config, fmt.Errorf("read the machine of node %q: %w", nodeName, err)
	}
	return config, nil
}

// session begins a session with a running machine.
func (p Place) session(ctx context.Context, r *Running) (*vm.Machine, error) {
	config, err := p.machineConfig(r.Name)
	if err != nil {
		return nil, err
	}
	guest, err := attachTo(ctx, config, r.QEMU, GuestPatience)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", r.Name, err)
	}
	return guest, nil
}

// inGuest runs a program in a guest with an input, and returns its output.
func inGuest(ctx context.Context, guest *vm.Machine, input []byte, argv ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, GuestPatience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	code, err := guest.Do(ctx, guestagent.Request{Argv: argv}, guestagent.Streams{Stdin: bytes.NewReader(input), Stdout: &stdout, Stderr: &stderr})
	if err == nil && code != 0 {
		err = fmt.Errorf("in the guest: %s", strings.TrimPrefix(strings.TrimSpace(stderr.String()), "nines-node: "))
	}
	if code == exit.Lacks {
		err = exit.Lacksf("%w", err)
	}
	return stdout.Bytes(), err
}

// StartEngine starts the engine in a guest.
func (vmRuntime) StartEngine(ctx context.Context, p Place, r *Running, env []string, serve func() error) error {
	guest, err := p.session(ctx, r)
	if err != nil {
		return err
	}
	defer guest.Close()
	// After a change of the app an old engine may still run, which ends with its input or a signal. Debian's
	// static busybox has no pkill.
	if _, err := inGuest(ctx, guest, nil, "sh", "-c", "killall nines-engine; rm -f "+GuestEngineSocket); err != nil {
		return err
	}
	_, err = guest.Spawn(ctx, guestagent.Request{
		Argv: []string{guestEngine, "--socket", GuestEngineSocket}, Env: env, Log: guestEngineLog,
	})
	if err != nil {
		return err
	}
	if err := serve(); err != nil {
		said, _ := inGuest(ctx, guest, nil, "tail", "-n5", guestEngineLog)
		return fmt.Errorf("%w; its last lines: %s", err, strings.TrimSpace(string(said)))
	}
	return nil
}

// Ask runs nines-node in the guest.
func (vmRuntime) Ask(ctx context.Context, p Place, r *Running, verb string, input []byte) ([]byte, error) {
	guest, err := p.session(ctx, r)
	if err != nil {
		return nil, err
	}
	defer guest.Close()
	return inGuest(ctx, guest, input, GuestNode, verb)
}
