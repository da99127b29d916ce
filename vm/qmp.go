package vm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// qmp is a session of the QEMU Machine Protocol (qemu-qmp-ref(7)); QEMU allows one at a
// time.
type qmp struct {
	conn   net.Conn
	reader *bufio.Reader
}

// qmpPatience is the time that QEMU's main loop has to answer.
const qmpPatience = 10 * time.Second

func (m *Machine) qmp(ctx context.Context) (*qmp, error) {
	ctx, cancel := context.WithTimeout(ctx, qmpPatience)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", m.config.qmpSocket())
	if err != nil {
		return nil, fmt.Errorf("QEMU's monitor: %w", err)
	}
	q := &qmp{conn: conn, reader: bufio.NewReader(conn)}
	_ = conn.SetDeadline(time.Now().Add(qmpPatience))
	// The greeting, and then the only command that is allowed first.
	_, err = q.reader.ReadString('\n')
	if err == nil {
		err = q.execute("qmp_capabilities", nil)
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("QEMU's monitor: %w", err)
	}
	return q, nil
}

// execute runs a command and decodes its result. It skips events.
func (q *qmp) execute(command string, into any) error {
	if err := json.NewEncoder(q.conn).Encode(map[string]string{"execute": command}); err != nil {
		return err
	}
	for {
		line, err := q.reader.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		var answer struct {
			Return json.RawMessage `json:"return"`
			Error  *struct {
				Desc string `json:"desc"`
			} `json:"error"`
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		switch {
		case answer.Error != nil:
			return fmt.Errorf("%s: %s", command, answer.Error.Desc)
		case answer.Return == nil: // an event
		case into == nil:
			return nil
		default:
			return json.Unmarshal(answer.Return, into)
		}
	}
}

// VCPUThreads are the host's threads that run the guest's CPUs, in the guest's order, so
// that they can be pinned.
func (m *Machine) VCPUThreads(ctx context.Context) ([]int, error) {
	q, err := m.qmp(ctx)
	if err != nil {
		return nil, err
	}
	defer q.conn.Close()
	var cpus []struct {
		Index  int `json:"cpu-index"`
		Thread int `json:"thread-id"`
	}
	if err := q.execute("query-cpus-fast", &cpus); err != nil {
		return nil, err
	}
	threads := make([]int, len(cpus))
	for _, cpu := range cpus {
		if cpu.Index < 0 || cpu.Index >= len(cpus) {
			return nil, fmt.Errorf("QEMU has a CPU %d of %d", cpu.Index, len(cpus))
		}
		threads[cpu.Index] = cpu.Thread
	}
	return threads, nil
}

// Interrupt sends an NMI to the guest of a running QEMU, also of one that another process has started.
func (c Config) Interrupt(ctx context.Context) error {
	q, err := (&Machine{config: c}).qmp(ctx)
	if err != nil {
		return err
	}
	defer q.conn.Close()
	return q.execute("inject-nmi", nil)
}

// quit ends a QEMU that is not our child.
func (m *Machine) quit() error {
	ctx := context.Background()
	q, err := m.qmp(ctx)
	if err != nil {
		return nil // it has ended
	}
	defer q.conn.Close()
	_ = q.execute("quit", nil)
	// The connection ends with the process.
	_, err = q.reader.ReadString(0)
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("%s does not end", Program)
	}
	return nil
}
