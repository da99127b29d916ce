package spec

import (
	"os"
	"reflect"
	"testing"
)

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func lengthOf(v any) int { return reflect.ValueOf(v).Len() }

// mustLoad loads a text that must be valid.
func mustLoad(t testing.TB, text string) *File {
	t.Helper()
	f, err := Load("lab.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}
