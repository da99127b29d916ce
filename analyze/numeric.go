package analyze

import (
	"math/big"
	"strings"
)

// numeric is an exact decimal number as in PostgreSQL: unscaled / 10^scale.
type numeric struct {
	unscaled *big.Int
	scale    int
}

func wholeNumeric(n uint64) numeric { return numeric{new(big.Int).SetUint64(n), 0} }

// parseNumeric reads digits with an optional decimal point.
func parseNumeric(text string) numeric {
	before, after, _ := strings.Cut(text, ".")
	unscaled, ok := new(big.Int).SetString(before+after, 10)
	if !ok {
		panic("capture: " + text + " is not a number")
	}
	return numeric{unscaled, len(after)}
}

// oneMinus is 1 − n.
func (n numeric) oneMinus() numeric {
	one := power10(n.scale)
	return numeric{one.Sub(one, n.unscaled), n.scale}
}

func power10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// leading returns the first non-zero digit in base 10,000, and its exponent; PostgreSQL computes in
// this base (NBASE, src/backend/utils/adt/numeric.c).
func (n numeric) leading() (digit int64, weight int) {
	if n.unscaled.Sign() == 0 {
		return 0, 0
	}
	exponent := len(n.unscaled.String()) - 1 - n.scale // of ten
	weight = exponent / 4
	if exponent < 0 && exponent%4 != 0 {
		weight--
	}
	quotient := new(big.Int)
	if shift := n.scale + 4*weight; shift >= 0 {
		quotient.Quo(n.unscaled, power10(shift))
	} else {
		quotient.Mul(n.unscaled, power10(-shift))
	}
	return quotient.Int64(), weight
}

// From PostgreSQL's numeric.h.
const (
	minSignificantDigits = 16
	maxDisplayScale      = 1000
)

// over is n / d as PostgreSQL writes it: with at least 16 significant digits, a number that depends
// on both (select_div_scale in numeric.c), rounded half away from zero. Neither is negative, and d
// is not zero.
func (n numeric) over(d numeric) string {
	first, weight := n.leading()
	other, otherWeight := d.leading()
	quotientWeight := weight - otherWeight
	if first <= other {
		quotientWeight--
	}
	scale := min(max(minSignificantDigits-4*quotientWeight, n.scale, d.scale, 0), maxDisplayScale)
	// n/d · 10^scale + 1/2, rounded down.
	top := new(big.Int).Mul(n.unscaled, power10(scale+d.scale))
	bottom := new(big.Int).Mul(d.unscaled, power10(n.scale))
	top.Add(top.Lsh(top, 1), bottom)
	top.Quo(top, bottom.Lsh(bottom, 1))
	digits := top.String()
	if scale == 0 {
		return digits
	}
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale+1-len(digits)) + digits
	}
	return digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}
