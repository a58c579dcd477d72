package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// TestEveryPeerAdmitsAndRefuses has each adapter do both: all peers' limits bind, and none refuses what it
// has room for.
func TestEveryPeerAdmitsAndRefuses(t *testing.T) {
	costs, err := measureCosts(all, 1, time.Millisecond/4, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	sheds := map[string]int{}
	for _, c := range costs {
		if c.kind != admitRelease {
			sheds[c.peer]++
		}
	}
	for _, p := range all {
		want := 1
		switch p.name {
		case "spillway":
			want = 3
		case "none", "x/sync Acquire", "goresilience codel": // they do not refuse at once
			want = 0
		}
		if sheds[p.name] != want {
			t.Errorf("%s refused in %d ways, want %d", p.name, sheds[p.name], want)
		}
	}
	if table := costTable(costs); strings.Count(table, "\n") != len(costs)+2 {
		t.Errorf("the table of %d costs is\n%s", len(costs), table)
	}
}

// TestAdapterPassesWorkOn has work run once, with an error that reaches the peer and not the caller.
func TestAdapterPassesWorkOn(t *testing.T) {
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) {
			l, err := p.start(env{limit: 10, capacity: 1000})
			if err != nil {
				t.Fatal(err)
			}
			defer l.close()
			for _, want := range []error{nil, context.DeadlineExceeded} {
				ran := 0
				ok := l.do(t.Context(), &request{tier: 1, tenant: "acme"}, func(context.Context) error { ran++; return want })
				if !ok || ran != 1 {
					t.Errorf("admitted %v, work ran %d times, want once", ok, ran)
				}
			}
		})
	}
}

func TestUnknownPeerIsNamed(t *testing.T) {
	_, err := parse([]string{"-peers", "spillway,none,nobody"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), `"nobody"`) || !strings.Contains(err.Error(), "aegis bbr") {
		t.Errorf("error %v does not name the unknown peer and the known ones", err)
	}
}

func TestUnknownPartIsNamed(t *testing.T) {
	_, err := parse([]string{"-parts", "cost,all"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), `"all"`) || !strings.Contains(err.Error(), "virtual") {
		t.Errorf("error %v does not name the unknown part and the known ones", err)
	}
}
