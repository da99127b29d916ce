package analyze

import (
	"io"
	"os"
	"strconv"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func decompress(t *testing.T, path string) []byte {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := zstd.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	raw, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func number(t *testing.T, text []byte) int64 {
	t.Helper()
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
