package debug

import (
	"strconv"
	"strings"
	"time"
)

// number is a figure of three digits.
func number(x float64) string {
	x += 0 // there is no -0
	if x >= 100 || x <= -100 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// seconds is a time of about three digits.
func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	for unit := time.Microsecond; ; unit *= 10 {
		if d < 1000*unit || unit >= time.Hour {
			return d.Round(unit).String()
		}
	}
}

func percent(x float64) string { return number(100*x) + " %" }

// printable escapes what is not: a name that came with a request must not move a
// terminal's cursor, neither in the text nor in a page that curl shows.
func printable(s string) string {
	var b strings.Builder
	for _, c := range s {
		if strconv.IsPrint(c) {
			b.WriteRune(c)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(c), "'"))
		}
	}
	return b.String()
}
