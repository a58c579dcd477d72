package configfile

import (
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/scorecard"
)

// scalar is a value in one piece.
type scalar struct {
	form  string   // what it must be
	known []string // the words it can be, if only those
	// read sets v, or says what the text must be and is not; suggestion is what
	// was probably meant. Nothing is set then.
	read func(in scalarText, v reflect.Value) (rule, suggestion string)
	// write is the inverse: read gives back v.
	write func(v reflect.Value) scalarText
}

// scalarText is a scalar as it stands in a file.
type scalarText struct {
	text  string
	plain bool // not quoted: what looks like a number is one
}

const (
	wholeForm    = "a whole number such as 20"
	sizeForm     = "a whole number, or a size such as 64MiB"
	numberForm   = "a number such as 0.5"
	ratioForm    = "a number such as 0.8, or a share such as 80%"
	amountForm   = "a number, a size such as 64MiB, or a share such as 25%"
	durationForm = "a duration with its unit, such as 5ms or 1.5s"
	priorityForm = "t0 to t5, with or without a cohort from 0 to 127 such as t1/37"
	capForm      = "a whole number of requests such as 20, or a share from 0% to 100% such as 25%"
)

var (
	text = scalar{
		form:  "text",
		read:  func(in scalarText, v reflect.Value) (string, string) { v.SetString(in.text); return "", "" },
		write: func(v reflect.Value) scalarText { return scalarText{text: v.String()} },
	}
	whole = scalar{
		form:  wholeForm,
		read:  func(in scalarText, v reflect.Value) (string, string) { return setInt(v, in, false) },
		write: writeInt,
	}
	size = scalar{
		form:  sizeForm,
		read:  func(in scalarText, v reflect.Value) (string, string) { return setInt(v, in, true) },
		write: writeInt,
	}
	number = scalar{
		form:  numberForm,
		read:  func(in scalarText, v reflect.Value) (string, string) { return setFloat(v, in, false, false) },
		write: writeFloat,
	}
	ratio = scalar{
		form:  ratioForm,
		read:  func(in scalarText, v reflect.Value) (string, string) { return setFloat(v, in, true, false) },
		write: writeFloat,
	}
	amount = scalar{
		form:  amountForm,
		read:  func(in scalarText, v reflect.Value) (string, string) { return setFloat(v, in, true, true) },
		write: writeFloat,
	}
	duration = scalar{
		form: durationForm,
		read: readDuration,
		write: func(v reflect.Value) scalarText {
			return scalarText{text: time.Duration(v.Int()).String(), plain: true}
		},
	}
	priority = scalar{
		form: priorityForm,
		read: func(in scalarText, v reflect.Value) (string, string) {
			p, err := admission.ParsePriority(in.text)
			if err != nil {
				return "must be " + priorityForm, ""
			}
			v.SetUint(uint64(p))
			return "", ""
		},
		write: func(v reflect.Value) scalarText {
			return scalarText{text: admission.Priority(v.Uint()).String(), plain: true}
		},
	}
	limitCap = scalar{
		form: capForm,
		read: func(in scalarText, v reflect.Value) (string, string) {
			c, err := scorecard.ParseCap(in.text)
			if err != nil || in.text != strings.TrimSpace(in.text) || !in.plain && c.Share == 0 {
				return "must be " + capForm, ""
			}
			if v.Kind() == reflect.Pointer {
				v.Set(reflect.ValueOf(&c))
			} else {
				v.Set(reflect.ValueOf(c))
			}
			return "", ""
		},
		write: func(v reflect.Value) scalarText {
			return scalarText{text: reflect.Indirect(v).Interface().(scorecard.Cap).String(), plain: true}
		},
	}
	mode = scalar{
		form:  "one of enforce, shadow, off",
		known: []string{"enforce", "shadow", "off"},
		read: func(in scalarText, v reflect.Value) (string, string) {
			var m admission.Mode
			if m.UnmarshalText([]byte(in.text)) != nil {
				return "must be one of enforce, shadow, off", ""
			}
			v.SetUint(uint64(m))
			return "", ""
		},
		write: func(v reflect.Value) scalarText {
			return scalarText{text: admission.Mode(v.Uint()).String(), plain: true}
		},
	}
	trialMode = scalar{
		form:  "one of enforce, shadow",
		known: []string{"enforce", "shadow"},
		read: func(in scalarText, v reflect.Value) (string, string) {
			if in.text != "enforce" && in.text != "shadow" {
				return "must be one of enforce, shadow", ""
			}
			v.SetBool(in.text == "shadow")
			return "", ""
		},
		write: func(reflect.Value) scalarText { return scalarText{text: "shadow", plain: true} },
	}
)

func wordOf(known []string) *scalar {
	return &scalar{
		form: "one of " + strings.Join(known, ", "), known: known,
		read: func(in scalarText, v reflect.Value) (string, string) {
			for _, w := range known {
				if w == in.text {
					v.SetString(w)
					return "", ""
				}
			}
			return "must be one of " + strings.Join(known, ", "), ""
		},
		write: func(v reflect.Value) scalarText { return scalarText{text: v.String(), plain: true} },
	}
}

func readDuration(in scalarText, v reflect.Value) (rule, suggestion string) {
	d, err := time.ParseDuration(in.text)
	if isNumber.MatchString(in.text) { // also 0, which ParseDuration reads without one
		return "must have a unit, such as 5ms or 1.5s", ""
	}
	if err != nil {
		squeezed := strings.ReplaceAll(in.text, " ", "")
		if _, err := time.ParseDuration(squeezed); err != nil || isNumber.MatchString(squeezed) {
			squeezed = ""
		}
		return "must be " + durationForm, squeezed
	}
	v.SetInt(int64(d))
	return "", ""
}

// The forms of numbers are those that YAML and JSON share: no octals, underscores,
// infinities, and no number in quotes.
var (
	isWhole  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	isNumber = regexp.MustCompile(`^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?$`)
	isShare  = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?%$`)
	isSize   = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(B|[kKMGT]B|[KMGT]iB)$`)
)

var units = map[string]float64{
	"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}

// bytesOf reads a size: whole bytes, as many as a float64 holds exactly.
func bytesOf(s string) (float64, bool) {
	m := isSize.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	n *= units[m[2]]
	return n, err == nil && n == math.Trunc(n) && n <= 1<<53
}

func setInt(v reflect.Value, in scalarText, sizes bool) (rule, suggestion string) {
	form := wholeForm
	if sizes {
		form = sizeForm
		if n, ok := bytesOf(in.text); ok {
			v.SetInt(int64(n))
			return "", ""
		}
	}
	n, err := strconv.ParseInt(in.text, 10, v.Type().Bits())
	switch {
	case !isWhole.MatchString(in.text):
		return "must be " + form, ""
	case !in.plain:
		return "must be " + form + ", without quotes", ""
	case err != nil:
		return "is out of range: must be " + form, ""
	}
	v.SetInt(n)
	return "", ""
}

func setFloat(v reflect.Value, in scalarText, shares, sizes bool) (rule, suggestion string) {
	form := numberForm
	if shares {
		form = ratioForm
		if isShare.MatchString(in.text) {
			// The exponent divides in decimal, as scorecard's caps do.
			f, err := strconv.ParseFloat(strings.TrimSuffix(in.text, "%")+"e-2", 64)
			if err != nil {
				return "is out of range: must be " + form, ""
			}
			v.SetFloat(f)
			return "", ""
		}
	}
	if sizes {
		form = amountForm
		if n, ok := bytesOf(in.text); ok {
			v.SetFloat(n)
			return "", ""
		}
	}
	f, err := strconv.ParseFloat(in.text, 64)
	switch {
	case !isNumber.MatchString(in.text):
		return "must be " + form, ""
	case !in.plain:
		return "must be " + form + ", without quotes", ""
	case err != nil:
		return "is out of range: must be " + form, ""
	}
	v.SetFloat(f + 0) // no negative zero, which would not be left out
	return "", ""
}

func writeInt(v reflect.Value) scalarText {
	return scalarText{text: strconv.FormatInt(v.Int(), 10), plain: true}
}

func writeFloat(v reflect.Value) scalarText {
	return scalarText{text: strconv.FormatFloat(v.Float(), 'f', -1, 64), plain: true}
}
