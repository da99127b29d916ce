package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"nines.dev/nines/measure/capture/packetfile"
)

// postgres is a private server, in a folder of its own and without a port; the system's
// is not touched.
type postgres struct {
	bin, dir string
	as       *syscall.Credential
	server   *exec.Cmd
}

// evaluation has a statement for each of the published files.
//
//go:embed evaluation.sql
var evaluation string

func startPostgres(ctx context.Context, dir string) (*postgres, error) {
	bins, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(bins) == 0 {
		return nil, missingPeer("postgresql")
	}
	p := &postgres{bin: filepath.Dir(bins[len(bins)-1])}
	var err error
	// Below /tmp, since the path of a socket must be short.
	if p.dir, err = os.MkdirTemp("/tmp", "ninespg"); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 { // as which it refuses to run
		if p.as, err = postgresUser(); err == nil {
			err = os.Chown(p.dir, int(p.as.Uid), int(p.as.Gid))
		}
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(p.dir))
		}
	}
	if out, err := p.command(ctx, "initdb", "-D", p.dir+"/data", "-U", "bench", "--no-sync", "--encoding=UTF8", "--locale=C", "--auth=trust").CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("initdb: %w: %s", err, out), os.RemoveAll(p.dir))
	}
	// More memory than by default, and nothing that waits for the disk.
	p.server = p.command(ctx, "postgres", "-D", p.dir+"/data", "-k", p.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "synchronous_commit=off",
		"-c", "shared_buffers=1GB", "-c", "work_mem=256MB", "-c", "maintenance_work_mem=512MB", "-c", "max_wal_size=8GB")
	if err := p.server.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(p.dir))
	}
	for deadline := time.Now().Add(time.Minute); p.command(ctx, "pg_isready", "-q", "-h", p.dir).Run() != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) || ctx.Err() != nil {
			return nil, errors.Join(errors.New("postgres does not answer"), p.stop())
		}
	}
	return p, nil
}

func postgresUser() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, err := strconv.ParseUint(u.Uid, 10, 32)
			if err != nil {
				return nil, err
			}
			gid, err := strconv.ParseUint(u.Gid, 10, 32)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
		}
	}
	return nil, errors.New("there is neither a user postgres nor nobody to run PostgreSQL as")
}

func (p *postgres) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, filepath.Join(p.bin, program), args...)
	c.Dir, c.Env = p.dir, []string{"PATH=" + p.bin, "LC_ALL=C"}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: p.as, Pdeathsig: syscall.SIGQUIT}
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGINT) }
	c.WaitDelay = 10 * time.Second
	return c
}

func (p *postgres) stop() error {
	_ = p.server.Process.Signal(syscall.SIGINT) // "fast shutdown"
	var exit *exec.ExitError
	if err := p.server.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return os.RemoveAll(p.dir)
}

func (p *postgres) psql(ctx context.Context, input io.Reader, args ...string) error {
	c := p.command(ctx, "psql", append([]string{"-q", "-X", "-v", "ON_ERROR_STOP=1", "-h", p.dir, "-U", "bench", "-d", "postgres"}, args...)...)
	c.Stdin = input
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("psql: %w: %s", err, out)
	}
	return nil
}

// evaluate imports the pair and writes the published files, and returns how many seconds
// it took.
func (p *postgres) evaluate(ctx context.Context, pair analyzePair) (seconds float64, err error) {
	started := time.Now()
	// One table of the packets of all captures, as published.
	err = p.psql(ctx, strings.NewReader(`
create unlogged table capture (capture_id serial primary key, type text);
create unlogged table pkt (capture_id int references capture, ts int8, hdr bytea);
create index on pkt using brin (capture_id);
insert into capture (type) values ('pre'), ('post');
create view pre as select ts, hdr from pkt join capture using (capture_id) where type = 'pre';
create view post as select ts, hdr from pkt join capture using (capture_id) where type = 'post';`))
	for id, path := range []string{pair.pre, pair.post} {
		if err == nil {
			err = p.copy(ctx, id+1, path)
		}
	}
	if err == nil {
		err = p.psql(ctx, strings.NewReader("analyze;"))
	}
	// Each file by a call of its own, as published.
	for statement := range strings.SplitSeq(evaluation, "\n;\n") {
		if err != nil {
			return 0, err
		}
		name, query, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(statement), "-- file: "), "\n")
		if query == "" {
			continue
		}
		err = p.psql(ctx, strings.NewReader(fmt.Sprintf("copy (%s) to '%s/%s.csv' csv header;", query, p.dir, name)))
	}
	return time.Since(started).Seconds(), err
}

// copy imports a capture; making the rows takes little of the time.
func (p *postgres) copy(ctx context.Context, id int, path string) error {
	r, err := packetfile.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	in, out := io.Pipe()
	go func() {
		w := bufio.NewWriterSize(out, 1<<20)
		var row []byte
		for {
			packet, err := r.Next()
			if errors.Is(err, io.EOF) {
				err = nil
			} else if err == nil {
				row = strconv.AppendInt(row[:0], int64(id), 10)
				row = append(row, '\t')
				row = strconv.AppendInt(row, packet.TimeNs, 10)
				row = append(row, "\t\\\\x"...)
				row = hex.AppendEncode(row, masked(packet.Data))
				row = append(row, '\n')
				if _, err = w.Write(row); err == nil {
					continue
				}
			}
			_ = out.CloseWithError(errors.Join(err, w.Flush()))
			return
		}
	}()
	return errors.Join(p.psql(ctx, in, "-c", "copy pkt from stdin"), in.Close())
}

// masked is the key of the published evaluation.
func masked(frame []byte) []byte {
	k := bytes.Clone(frame[:min(64, len(frame))])
	if len(k) >= 52 && k[14] == 0x45 {
		k[24], k[25] = 0, 0
		switch k[23] {
		case 17:
			k[40], k[41] = 0, 0
		case 6:
			k[50], k[51] = 0, 0
		}
	}
	return k[min(12, len(k)):]
}
