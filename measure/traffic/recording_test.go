package traffic

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

func makeFiles(t *testing.T, folder string) recordFiles {
	t.Helper()
	f, err := makeRecordFiles(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// An unnamed file needs no removal, even after kill -9.
func TestFilesForPacketsHaveNoName(t *testing.T) {
	folder := t.TempDir()
	f := makeFiles(t, folder)
	for _, file := range []*os.File{f.sent, f.received} {
		if _, err := file.WriteString("packets"); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 0 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

func TestAPlaceForPacketsThatIsNoneIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{file, filepath.Join(t.TempDir(), "missing")} {
		if _, err := makeRecordFiles(place); err == nil || !strings.Contains(err.Error(), place) {
			t.Errorf("%s: %v", place, err)
		}
	}
}

func TestAReadOnlyPlaceForPacketsIsNamed(t *testing.T) {
	labtest.Root(t)
	folder := t.TempDir()
	if err := unix.Mount("tmpfs", folder, "tmpfs", unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	}()
	if _, err := makeRecordFiles(folder); err == nil || !strings.Contains(err.Error(), folder) || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("%v", err)
	}
}

func TestWhatIsMissingOfARecordingIsSaid(t *testing.T) {
	if r := (recordFiles{}).recorded(client.TrialResult{}); r != nil {
		t.Errorf("nothing was to be recorded: %+v", r)
	}
	f := makeFiles(t, t.TempDir())
	if _, err := f.sent.WriteString("packets"); err != nil {
		t.Fatal(err)
	}
	slow := client.Recording{What: "received", Records: 5, Lost: 3}
	r := f.recorded(client.TrialResult{Recordings: []client.Recording{{What: "sent", Records: 8}}}, client.TrialResult{Recordings: []client.Recording{slow}})
	if r.SentLost != 0 || r.ReceivedLost != 3 || r.Unwritten || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "received lacks 3") {
		t.Errorf("a slow disk: %+v", r)
	}
	full := client.Recording{What: "sent", Records: 5, Lost: 3, Error: "No space left on device"}
	r = f.recorded(client.TrialResult{Recordings: []client.Recording{full}})
	if r.SentLost != 3 || !r.Unwritten || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "No space left") {
		t.Errorf("a full disk: %+v", r)
	}
	// The rest of the result gets the room.
	if info, err := f.sent.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("%d bytes are left, %v", info.Size(), err)
	}
}
