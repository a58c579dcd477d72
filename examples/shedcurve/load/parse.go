package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// line is a request as a person writes it down.
type line struct {
	Weight *float64          `yaml:"weight"`
	Tier   string            `yaml:"tier"`
	Tenant string            `yaml:"tenant"`
	Method string            `yaml:"method"`
	Path   string            `yaml:"path"`
	Body   string            `yaml:"body"`
	Header map[string]string `yaml:"header"`
}

// ParseRequest reads one class of requests from a line such as
//
//	weight=3 tier=t1 tenant=acme GET /orders/17
//	weight=3 tier=t1 tenant=acme /shop.Orders/Get {"id": 17}
//
// The settings come first, in any order, and may be left out (weight 1, tier t3, no tenant). Last come method and path,
// which may have a query, without spaces; or a gRPC method and its message as JSON, which may be left out.
func ParseRequest(s string) (Class, error) {
	var l line
	rest := strings.TrimSpace(s)
	for {
		field, after := cutSpace(rest)
		key, value, ok := strings.Cut(field, "=")
		if !ok || strings.HasPrefix(field, "/") {
			break
		}
		switch key {
		case "weight":
			w, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return Class{}, fmt.Errorf("load: request %q: weight is %q, must be a number", s, value)
			}
			l.Weight = &w
		case "tier":
			l.Tier = value
		case "tenant":
			l.Tenant = value
		default:
			return Class{}, fmt.Errorf("load: request %q: unknown setting %q, must be weight, tier or tenant", s, key)
		}
		rest = after
	}
	if strings.HasPrefix(rest, "/") {
		l.Method, l.Body = cutSpace(rest)
	} else if fields := strings.Fields(rest); len(fields) == 2 {
		l.Method, l.Path = fields[0], fields[1]
	} else {
		return Class{}, fmt.Errorf("load: request %q: must end with a method and a path, such as GET /x, or with a gRPC method and JSON", s)
	}
	c, err := l.class()
	if err != nil {
		return Class{}, fmt.Errorf("load: request %q: %w", s, err)
	}
	return c, nil
}

// ParseRequests reads classes of requests from YAML: a list of mappings with the keys of ParseRequest's line,
// and body and header beside them:
//
//   - {weight: 3, tier: t1, method: GET, path: /orders/17}
//   - {tier: t5, method: POST, path: /reports, body: '{"days": 30}', header: {Accept: text/csv}}
//   - {tier: t2, method: /shop.Orders/Get, body: '{"id": 17}'}
//
// Unknown keys are errors.
func ParseRequests(r io.Reader) ([]Class, error) {
	var lines []line
	dec := yaml.NewDecoder(r)
	dec.KnownFields(true)
	if err := dec.Decode(&lines); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("load: requests: %w", err)
	}
	if len(lines) == 0 {
		return nil, errors.New("load: requests: none, must be a list of at least one")
	}
	var errs []error
	classes := make([]Class, 0, len(lines))
	for i, l := range lines {
		c, err := l.class()
		if err != nil {
			errs = append(errs, fmt.Errorf("load: requests[%d]: %w", i, err))
		}
		classes = append(classes, c)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return classes, nil
}

func (l line) class() (Class, error) {
	weight := 1.0
	if l.Weight != nil {
		weight = *l.Weight
	}
	if l.Tier == "" {
		l.Tier = "t3"
	}
	var errs []error
	if !(weight > 0) || weight > 1e9 {
		errs = append(errs, fmt.Errorf("weight is %v, must be above 0 and at most 1e9", weight))
	}
	if !isTier(l.Tier) {
		errs = append(errs, fmt.Errorf(`tier is %q, must be "t0" to "t5"`, l.Tier))
	}
	errs = append(errs, l.checkTarget()...)
	if !isValue(l.Tenant) {
		errs = append(errs, fmt.Errorf("tenant is %q, must be printable", l.Tenant))
	}
	for k, v := range l.Header {
		if !isToken(k) || !isValue(v) {
			errs = append(errs, fmt.Errorf("header %q: %q: must be a header's name and value", k, v))
		}
	}
	req := Request{Method: l.Method, Path: l.Path, Body: l.Body, Tenant: l.Tenant, Header: l.Header}
	return Class{
		Name: strings.TrimSpace(l.Method + " " + l.Path), Weight: weight, Tier: l.Tier,
		Make: func(*rand.Rand) Request { return req },
	}, errors.Join(errs...)
}

// cutSpace cuts s at its first white space.
func cutSpace(s string) (field, rest string) {
	if i := strings.IndexFunc(s, unicode.IsSpace); i >= 0 {
		return s[:i], strings.TrimSpace(s[i:])
	}
	return s, ""
}

// checkTarget checks what is asked for: method and path, or a gRPC method and its message.
func (l line) checkTarget() (errs []error) {
	if strings.HasPrefix(l.Method, "/") {
		service, name, _ := strings.Cut(l.Method[1:], "/")
		if !isToken(service) || !isToken(name) {
			errs = append(errs, fmt.Errorf("method is %q, must be one of gRPC, such as /package.Service/Method", l.Method))
		}
		if l.Path != "" {
			errs = append(errs, fmt.Errorf("path is %q, a gRPC method has none", l.Path))
		}
		if l.Body != "" && !json.Valid([]byte(l.Body)) {
			errs = append(errs, fmt.Errorf("message is %q, must be JSON", l.Body))
		}
		return errs
	}
	if l.Method == "" || strings.ToUpper(l.Method) != l.Method || !isToken(l.Method) {
		errs = append(errs, fmt.Errorf("method is %q, must be one in capitals, such as GET", l.Method))
	}
	if u, err := url.ParseRequestURI(l.Path); err != nil || !strings.HasPrefix(l.Path, "/") || u.Host != "" {
		errs = append(errs, fmt.Errorf("path is %q, must begin with a single /", l.Path))
	}
	return errs
}

// isToken tells whether s may be a method or the name of a header (RFC 9110, 5.6.2).
func isToken(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	}) < 0
}

// isValue tells whether s may be the value of a header.
func isValue(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}
