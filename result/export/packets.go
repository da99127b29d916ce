package export

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
)

// WritePackets copies the packets of the only trial that has them.
func WritePackets(w io.Writer, r *result.Result, trials []result.Trial) error {
	var found, why string
	for _, t := range trials {
		folder := r.TrialFolder(t.ID)
		_, path, err := folder.Path(result.PacketsFile)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			why = cmp.Or(why, folder.WhyNoPackets())
		case err != nil:
			return err
		case found != "":
			return exit.Wrongf("the packets of several trials were recorded, each in its own file: choose one with --trial")
		default:
			found = path
		}
	}
	switch {
	case found == "" && why != "":
		return exit.Wrongf("the packets were recorded, but not kept: %s", why)
	case found == "":
		return exit.Wrongf("the packets were not recorded individually; set traffic.packets in the experiment file")
	}
	file, err := os.Open(found)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := io.Copy(w, file); err != nil {
		return fmt.Errorf("%s: %w", result.PacketsFile, err)
	}
	return nil
}
