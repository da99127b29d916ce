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
	"strconv"
	"strings"
	"time"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/test/postgres"
)

// database is a PostgreSQL server for the evaluation.
type database struct {
	*postgres.Server
}

// evaluation has a statement for each of the published files.
//
//go:embed evaluation.sql
var evaluation string

// startDatabase starts a server with more memory than by default, which never waits for the disk.
func startDatabase(ctx context.Context) (*database, error) {
	server, err := postgres.Start(ctx, postgres.Options{User: "bench", Settings: []string{
		"synchronous_commit=off", "shared_buffers=1GB", "work_mem=256MB", "maintenance_work_mem=512MB", "max_wal_size=8GB",
	}})
	if errors.Is(err, postgres.ErrMissing) {
		return nil, missingPeer("postgresql")
	}
	if err != nil {
		return nil, err
	}
	return &database{server}, nil
}

func (p *database) psql(ctx context.Context, input io.Reader, args ...string) error {
	c := p.Command(ctx, "psql", append([]string{"-q", "-X", "-v", "ON_ERROR_STOP=1", "-h", p.Dir, "-U", "bench", "-d", "postgres"}, args...)...)
	c.Stdin = input
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("psql: %w: %s", err, out)
	}
	return nil
}

// evaluate imports the pair, writes the published files, and returns how many seconds that took.
func (p *database) evaluate(ctx context.Context, pair analyzePair) (seconds float64, err error) {
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
	// Each file by its own call, as published.
	for statement := range strings.SplitSeq(evaluation, "\n;\n") {
		if err != nil {
			return 0, err
		}
		name, query, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(statement), "-- file: "), "\n")
		if query == "" {
			continue
		}
		err = p.psql(ctx, strings.NewReader(fmt.Sprintf("copy (%s) to '%s/%s.csv' csv header;", query, p.Dir, name)))
	}
	return time.Since(started).Seconds(), err
}

// copy imports a capture; making the rows takes little time.
func (p *database) copy(ctx context.Context, id int, path string) error {
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

// masked returns the key that the published evaluation uses.
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
