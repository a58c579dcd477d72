package process

import (
	"strings"
	"testing"
)

func TestTailKeepsTheEnd(t *testing.T) {
	var l tail
	if l.String() != "" {
		t.Errorf("nothing said: %q", l.String())
	}
	for range tailSize {
		l.Write([]byte("ab "))
	}
	l.Write([]byte("end\n"))
	if s := l.String(); len(s) > tailSize+len("; it said: ") || !strings.HasSuffix(s, "end") {
		t.Errorf("%d bytes, ending in %q", len(s), s[len(s)-5:])
	}
}
