package result

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// packetsFile is a file of packets as a trial has one.
func packetsFile(t testing.TB, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := writePackets(&out, &Packets{Batches: inBatches(somePackets(n), 1000)}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// rowsOf counts the rows that are read of a file.
func rowsOf(t testing.TB, content []byte) (rows int, err error) {
	t.Helper()
	_, err = readRowsOf(bytes.NewReader(content), int64(len(content)), []string{PacketsSchema, packetsSchemaV1}, func(list []Packet) error {
		rows += len(list)
		return nil
	})
	return rows, err
}

// TestAPartOfAParquetFileIsAnError: a file may end anywhere.
func TestAPartOfAParquetFileIsAnError(t *testing.T) {
	whole := packetsFile(t, 3000)
	if rows, err := rowsOf(t, whole); err != nil || rows != 3000 {
		t.Fatalf("the whole: %d rows, %v", rows, err)
	}
	for length := range len(whole) {
		if length%97 != 0 && length < len(whole)-16 {
			continue
		}
		if _, err := rowsOf(t, whole[:length]); err == nil {
			t.Errorf("%d bytes of %d were read", length, len(whole))
		}
	}
}

// TestADamagedParquetFileEndsNothing: whatever bytes are changed, reading ends with rows or with an
// error.
func TestADamagedParquetFileEndsNothing(t *testing.T) {
	whole := packetsFile(t, 3000)
	random := rand.New(rand.NewPCG(1, 2))
	failed := 0
	for range 200 {
		damaged := bytes.Clone(whole)
		for range 1 + random.IntN(3) {
			damaged[random.IntN(len(damaged))] ^= byte(1 + random.IntN(255))
		}
		if _, err := rowsOf(t, damaged); err != nil {
			failed++
		}
	}
	if failed == 0 {
		t.Error("no damage was noticed")
	}
}

// withFooter changes what a file says of itself at its end: the metadata, their length, and PAR1.
func withFooter(t *testing.T, file []byte, change func(*format.FileMetaData)) []byte {
	t.Helper()
	end := len(file) - 8
	begin := end - int(binary.LittleEndian.Uint32(file[end:]))
	var protocol thrift.CompactProtocol
	var footer format.FileMetaData
	if err := thrift.Unmarshal(&protocol, file[begin:end], &footer); err != nil {
		t.Fatal(err)
	}
	change(&footer)
	text, err := thrift.Marshal(&protocol, &footer)
	if err != nil {
		t.Fatal(err)
	}
	out := append(bytes.Clone(file[:begin]), text...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(text)))
	return append(out, "PAR1"...)
}

// TestAParquetFileThatLiesOfItsSize is refused before memory is taken for what it says.
func TestAParquetFileThatLiesOfItsSize(t *testing.T) {
	whole := packetsFile(t, 3000)
	if _, err := rowsOf(t, withFooter(t, whole, func(*format.FileMetaData) {})); err != nil {
		t.Fatalf("the footer written again: %v", err)
	}
	for name, test := range map[string]struct {
		change func(*format.FileMetaData)
		want   string
	}{
		"rows of the file":  {func(m *format.FileMetaData) { m.NumRows = 1 << 50 }, "its row groups have 3000"},
		"rows of a group":   {func(m *format.FileMetaData) { m.NumRows, m.RowGroups[0].NumRows = 1<<50, 1<<50 }, "its row group 0 has"},
		"negative rows":     {func(m *format.FileMetaData) { m.NumRows, m.RowGroups[0].NumRows = -1, -1 }, "negative"},
		"bytes of a column": {func(m *format.FileMetaData) { m.RowGroups[0].Columns[2].MetaData.TotalUncompressedSize = 1 << 50 }, "a column of its row group 0"},
		"no such encoding": {func(m *format.FileMetaData) {
			m.RowGroups[0].Columns[2].MetaData.Codec = math.MaxInt32
		}, ""},
		"no columns in the group": {func(m *format.FileMetaData) { m.RowGroups[0].Columns = nil }, ""},
	} {
		if _, err := rowsOf(t, withFooter(t, whole, test.change)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPacketsOfTheFirstSchemaAreRead: only where their poll gaps begin differs.
func TestPacketsOfTheFirstSchemaAreRead(t *testing.T) {
	older := bytes.Replace(packetsFile(t, 3000), []byte(PacketsSchema), []byte(packetsSchemaV1), 1)
	if rows, err := rowsOf(t, older); err != nil || rows != 3000 {
		t.Errorf("%d rows: %v", rows, err)
	}
}

// TestAParquetFileOfOtherColumns names the column that is wrong.
func TestAParquetFileOfOtherColumns(t *testing.T) {
	schema := parquet.KeyValueMetadata(parquetSchemaKey, PacketsSchema)
	write := func(rows any) []byte {
		var out bytes.Buffer
		w := parquet.NewWriter(&out, parquet.SchemaOf(rows), schema)
		if err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	type text struct {
		ID string `parquet:"id"`
	}
	type list struct {
		ID []int32 `parquet:"id"`
	}
	for name, test := range map[string]struct {
		file []byte
		want string
	}{
		"text":    {write(&text{"one"}), `its column "id" is`},
		"lists":   {write(&list{[]int32{1, 2}}), `its column "id" is`},
		"missing": {write(&struct{ ID, Flow uint32 }{1, 2}), `it has no column "id"`},
	} {
		if _, err := rowsOf(t, test.file); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMoreEventsThanCanBeHeld: rows without content take next to nothing in a file, and much in memory.
func TestMoreEventsThanCanBeHeld(t *testing.T) {
	r, w := tracedTrial(t)
	r.Events = slices.Repeat([]Event{{Kind: r.Events[0].Kind}}, 10_001)
	folder := mustOpen(t, w.Dir()).TrialFolder(mustAdd(t, w, r).ID)
	if events, err := folder.eventsUpTo(10_001); err != nil || len(events) != 10_001 {
		t.Errorf("%d events, %v", len(events), err)
	}
	if _, err := folder.eventsUpTo(10_000); err == nil || !strings.Contains(err.Error(), "more than 10000 events") {
		t.Errorf("%v", err)
	}
}

// TestALyingDescriptionTakesNoMemory: the library makes room for what a description says it has.
func TestALyingDescriptionTakesNoMemory(t *testing.T) {
	for _, file := range []string{
		"PAR1\xe7\xff\xff\xffgwwwwwPAR1",                       // longer than the file
		"PAR1\x29\xfc\xff\xff\xff\xff\x07\x07\x00\x00\x00PAR1", // a schema of 2³¹ columns
	} {
		if _, err := rowsOf(t, []byte(file)); !errors.Is(err, errFooter) {
			t.Errorf("%q: %v", file, err)
		}
	}
	description := packetsFile(t, 3)
	if err := checkFooter(bytes.NewReader(description), int64(len(description))); err != nil {
		t.Error(err)
	}
}

// FuzzPackets: a recording may come from anyone; an unreadable one is an error.
func FuzzPackets(f *testing.F) {
	f.Add(packetsFile(f, 3))
	f.Add([]byte("PAR1\x00\x00\x00\x00PAR1"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, _ = rowsOf(t, raw)
	})
}
