package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"nines.dev/nines/exit"
	"nines.dev/nines/script/wire"
)

// ask sends a request, with a body where it has one, and waits for the answer.
func ask(ctx context.Context, request wire.Request, body io.Reader) (string, error) {
	path := os.Getenv(wire.Environment)
	if path == "" {
		return "", exit.Wrongf("nines-script works only in scripts that 'nines run' starts (%s is not set)", wire.Environment)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		return "", fmt.Errorf("nines does not answer; the run has probably ended: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	line, err := json.Marshal(request)
	if err != nil {
		return "", err
	}
	_, err = conn.Write(append(line, '\n'))
	if err == nil && body != nil {
		_, err = io.CopyN(conn, body, request.Bytes)
	}
	// An upload that is refused is answered before it was read, and the answer says why.
	answer, unread := readAnswer(conn)
	switch {
	case unread == nil && answer.Error != "":
		return "", errors.New(answer.Error)
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", err
	case unread != nil:
		return "", fmt.Errorf("nines ended before it answered: %w", unread)
	}
	return answer.Value, nil
}

func readAnswer(from io.Reader) (wire.Answer, error) {
	var answer wire.Answer
	line, err := bufio.NewReader(io.LimitReader(from, wire.LongestLine)).ReadBytes('\n')
	if err != nil {
		return answer, err
	}
	return answer, json.Unmarshal(line, &answer)
}

// upload sends a file, by its own name unless it is given another. Its size is that at the start, so
// that a file which grows is cut there.
func upload(ctx context.Context, path, name string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return exit.Wrongf("%s is not a regular file; upload takes files; pack a folder with tar", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if name == "" {
		name = filepath.Base(path)
	}
	_, err = ask(ctx, wire.Request{Verb: wire.Upload, Name: name, Bytes: info.Size()}, file)
	return err
}
