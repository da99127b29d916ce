package spec

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// amount is a number, with what follows it.
var amount = regexp.MustCompile(`^([0-9][0-9_,.]*) *(.*)$`)

// thousands is a number with its thousands apart.
var thousands = regexp.MustCompile(`^[0-9]{1,3}(,[0-9]{3})+$`)

// otherUnits are units as people write them elsewhere, in lower case, and ours, which may be several.
var otherUnits = map[string][]string{
	"sec": {"s"}, "secs": {"s"}, "second": {"s"}, "seconds": {"s"},
	"min": {"m"}, "mins": {"m"}, "minute": {"m"}, "minutes": {"m"},
	"hr": {"h"}, "hrs": {"h"}, "hour": {"h"}, "hours": {"h"},
	"msec": {"ms"}, "msecs": {"ms"}, "millisecond": {"ms"}, "milliseconds": {"ms"},
	"usec": {"us"}, "usecs": {"us"}, "microsecond": {"us"}, "microseconds": {"us"},
	"nsec": {"ns"}, "nsecs": {"ns"}, "nanosecond": {"ns"}, "nanoseconds": {"ns"},
	"byte": {"B", ""}, "bytes": {"B", ""}, "b": {"B", ""},
	"k": {"kB", "KiB", "kbit/s", "k"}, "m": {"MB", "MiB", "Mbit/s", "M"}, "g": {"GB", "GiB", "Gbit/s", "G"},
	"t": {"TB", "TiB", "Tbit/s"}, "ki": {"KiB"}, "mi": {"MiB"}, "gi": {"GiB"}, "ti": {"TiB"},
	"bit": {"bit/s"}, "kbit": {"kbit/s"}, "mbit": {"Mbit/s"}, "gbit": {"Gbit/s"}, "tbit": {"Tbit/s"},
	"kbps": {"kbit/s"}, "mbps": {"Mbit/s"}, "gbps": {"Gbit/s"}, "tbps": {"Tbit/s"},
	"kb/s": {"kbit/s"}, "mb/s": {"Mbit/s"}, "gb/s": {"Gbit/s"},
	"pps": {""}, "packets": {""}, "packets/s": {""}, "kpps": {"k"}, "mpps": {"M"}, "": {""},
}

// nearly lists the forms that a value takes and that a text can mean which is written otherwise: "5 sec" is 5s, "1,000" is
// 1000. units are those of the value.
func nearly(text string, units []string, takes func(string) bool) []string {
	parts := amount.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil || len(text) > 64 {
		return nil
	}
	number, word := parts[1], strings.ToLower(strings.ReplaceAll(parts[2], "μ", "u")) // the Greek letter, for which YAML files have µ
	switch {
	case thousands.MatchString(number):
		number = strings.ReplaceAll(number, ",", "")
	case strings.Count(number, ",") == 1 && !strings.Contains(number, "."):
		number = strings.Replace(number, ",", ".", 1)
	}
	if percent, err := strconv.ParseFloat(number, 64); err == nil && word == "%" {
		number, word = strconv.FormatFloat(percent/100, 'f', -1, 64), ""
	}
	candidates := otherUnits[word]
	for _, u := range units {
		if strings.ToLower(u) == word {
			candidates = append(slices.Clone(candidates), u)
		}
	}
	var forms []string
	for _, u := range candidates {
		if form := number + u; takes(form) && !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return forms
}

// writeInstead is a remedy that names forms; empty without any.
func writeInstead(forms []string) string {
	if len(forms) == 0 {
		return ""
	}
	return "write " + strings.Join(forms, " or ")
}

// truth is the word that YAML has for what other programs call yes, on and so on.
func truth(text string) string {
	switch strings.ToLower(text) {
	case "yes", "on", "y", "1":
		return "write true"
	case "no", "off", "n", "0":
		return "write false"
	}
	return ""
}
