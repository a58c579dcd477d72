package debug

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

// inline is what stands within a script or style element.
var inline = regexp.MustCompile(`(?s)<(script|style)>(.*?)</(script|style)>`)

// wantStrict holds that a page runs and loads nothing but its own script and style,
// that the policy allows only these, and that no name of a tenant has become markup.
func wantStrict(t *testing.T, page, policy string) {
	t.Helper()
	if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
		t.Errorf("the policy is %q", policy)
	}
	found := inline.FindAllStringSubmatch(page, -1)
	if len(found) != 2 {
		t.Fatalf("the page has %d scripts and styles, want one each", len(found))
	}
	for _, element := range found {
		sum := sha256.Sum256([]byte(element[2]))
		want := element[1] + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		if len(element[2]) < 100 || !strings.Contains(policy, want) {
			t.Errorf("the policy %q does not allow the page's %s, %s", policy, element[1], want)
		}
	}
	d := xml.NewDecoder(strings.NewReader(inline.ReplaceAllString(page, "")))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	elements := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		elements++
		if name := element.Name.Local; name == "script" || name == "style" || name == "iframe" || name == "img" || name == "object" {
			t.Errorf("the page has an element %s", name)
		}
		for _, a := range element.Attr {
			name := strings.ToLower(a.Name.Local)
			switch {
			case strings.HasPrefix(name, "on") || name == "style":
				t.Errorf("%s has an attribute %s, which the policy forbids", element.Name.Local, name)
			case (name == "src" || name == "href" || name == "action") && a.Value != "data:," && !strings.HasPrefix(a.Value, "?") && !strings.HasPrefix(a.Value, "#"):
				t.Errorf("%s leads outside: %s is %q", element.Name.Local, name, a.Value)
			}
		}
	}
	if elements < 50 {
		t.Errorf("the page has %d elements", elements)
	}
}
