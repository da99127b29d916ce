package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// CopySuffix follows a journal's path: that file has a copy of the first line. Without what that says, the
// token and the prefix, nothing of a lab could be found.
const CopySuffix = ".first"

func copyHeader(path string, header Header) error {
	text, err := json.Marshal(header)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	path += CopySuffix
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("start the journal: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start the journal: %w", err)
	}
	_, err = file.Write(seal(text))
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(fmt.Errorf("start the journal: %w", err), os.Remove(path))
	}
	return nil
}

// readCopy is the header by its copy.
func readCopy(path string) (*Header, error) {
	file, err := os.OpenFile(path+CopySuffix, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(file); err != nil {
		return nil, err
	}
	header, err := decodeHeader(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
	if err != nil {
		return nil, err
	}
	return &header, nil
}

// ReadHeader reads the first line of a journal, or its copy. The error is ErrEmpty if there is no such line.
func ReadHeader(path string) (Header, error) {
	header, uncopied := readCopy(path)
	text, err := firstLine(path)
	if err != nil && (uncopied != nil || !errors.Is(err, fs.ErrNotExist)) {
		return Header{}, err
	}
	c, err := parse(text, header)
	if damaged := new(DamagedError); errors.As(err, &damaged) {
		damaged.Path = path
	} else if err != nil {
		err = fmt.Errorf("read %s: %w", path, err)
	}
	return c.header, err
}

func firstLine(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	defer file.Close()
	text, err := bufio.NewReader(file).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return text, nil
}
