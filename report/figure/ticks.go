package figure

import (
	"math"
	"strconv"
	"strings"
)

// logAxis widens a range to the next 1, 2 or 5 times a power of ten, and marks it: each power of
// ten has its number, and 2 and 5 too if there are few of those.
func logAxis(title string, low, high float64) Axis {
	a := Axis{Title: title, Log: true, Min: roundDown(low), Max: roundUp(high)}
	if a.Min >= a.Max {
		a.Min, a.Max = a.Min/2, a.Max*2
	}
	const tolerance = 1e-9
	first, last := int(math.Floor(math.Log10(a.Min)+tolerance)), int(math.Ceil(math.Log10(a.Max)-tolerance))
	decades := 0
	for d := first; d <= last; d++ {
		if at := math.Pow10(d); at >= a.Min*(1-tolerance) && at <= a.Max*(1+tolerance) {
			decades++
		}
	}
	for d := first; d <= last; d++ {
		for digit := 1; digit <= 9; digit++ {
			at := float64(digit) * math.Pow10(d)
			if at < a.Min*(1-tolerance) || at > a.Max*(1+tolerance) {
				continue
			}
			t := Tick{At: at}
			if digit == 1 || decades <= 2 && (digit == 2 || digit == 5) {
				t.Label = numeral(at)
			}
			a.Ticks = append(a.Ticks, t)
		}
	}
	return a.grouped()
}

// grouped gives every label above 999 a comma if one of the axis needs it: 1,000 beside 10,000, but
// 1000 alone.
func (a Axis) grouped() Axis {
	commas := false
	for _, t := range a.Ticks {
		commas = commas || strings.Contains(t.Label, ",")
	}
	for i, t := range a.Ticks {
		if size := math.Abs(t.At); commas && t.Label != "" && !strings.Contains(t.Label, ",") && size >= 1000 {
			at := strings.IndexAny(t.Label, "0123456789") + 1
			a.Ticks[i].Label = t.Label[:at] + "," + t.Label[at:]
		}
	}
	return a
}

// linearAxis starts at 0 unless the data goes below, and has four to nine numbers.
func linearAxis(title string, low, high float64) Axis {
	low = min(low, 0)
	if high <= low {
		high = low + 1
	}
	step := niceStep((high - low) / 8)
	a := Axis{Title: title, Min: math.Floor(low/step+1e-9) * step, Max: math.Ceil(high/step-1e-9) * step}
	for i := math.Round(a.Min / step); i*step <= a.Max+step/2; i++ {
		a.Ticks = append(a.Ticks, Tick{At: i * step, Label: numeral(i * step)})
	}
	return a.grouped()
}

// percentileAxis is x = 1/(1−p): each further nine has the same width.
func percentileAxis(high float64) Axis {
	a := Axis{Title: "percentile (%)", Log: true, Min: 1, Max: max(high, 10)}
	for d := 0; math.Pow10(d) <= a.Max*(1+1e-9); d++ {
		a.Ticks = append(a.Ticks, Tick{At: math.Pow10(d), Label: percentLabel(d)})
		for digit := 2.0; digit <= 9; digit++ {
			if at := digit * math.Pow10(d); at <= a.Max {
				t := Tick{At: at}
				if at == 2 { // the median, which every paper names
					t.Label, t.Between = "50", true
				}
				a.Ticks = append(a.Ticks, t)
			}
		}
	}
	return a
}

// percentLabel is the percentile with this many nines: 0, 90, 99, 99.9.
func percentLabel(nines int) string {
	switch nines {
	case 0:
		return "0"
	case 1:
		return "90"
	case 2:
		return "99"
	}
	return "99." + strings.Repeat("9", nines-2)
}

// sizeAxis marks the measured frame sizes, with equal ratios at equal distances.
func sizeAxis(sizes []float64) Axis {
	a := Axis{Title: "frame size (bytes)", Log: true, Min: sizes[0] / 1.2, Max: sizes[len(sizes)-1] * 1.2}
	for _, size := range sizes {
		a.Ticks = append(a.Ticks, Tick{At: size, Label: numeral(size)})
	}
	return a.grouped()
}

// niceStep is the next 1, 2 or 5 times a power of ten.
func niceStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)+1e-9))
	for _, digit := range []float64{1, 2, 5} {
		if digit*power >= v*(1-1e-9) {
			return digit * power
		}
	}
	return 10 * power
}

func roundUp(v float64) float64 { return niceStep(v) }

func roundDown(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)+1e-9))
	for _, digit := range []float64{5, 2} {
		if digit*power <= v*(1+1e-9) {
			return digit * power
		}
	}
	return power
}

// numeral formats a number on an axis: 0.5, 10, 1000, 10,000.
func numeral(v float64) string {
	if v == 0 {
		return "0"
	}
	text := strconv.FormatFloat(v, 'f', max(0, 2-int(math.Floor(math.Log10(math.Abs(v))+1e-9))), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	if len(whole) > 4 { // 1000 needs no comma
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "," + whole[i:]
		}
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if v < 0 {
		whole = "−" + whole
	}
	return whole
}

// scale brings large numbers into thousands or millions, with the unit's prefix.
func scale(highest float64) (factor float64, prefix string) {
	switch {
	case highest >= 1e6:
		return 1e-6, "M"
	case highest >= 1e4:
		return 1e-3, "k"
	}
	return 1, ""
}
