package configfile

import (
	"strings"
	"testing"

	"github.com/spillway-go/spillway/admission"
)

// A file may leave out a lane that nobody has used. Once a request has come to it, such a
// file is refused, with its position and the lane's name, and the requests go on.
func TestALaneInUseStays(t *testing.T) {
	const both = "mode: enforce\nlanes:\n  read: {}\n  write: {limit: {fixed: 1}}\n"
	write := admission.Request{Lane: "write"}
	for name, c := range map[string]struct {
		use  func(*testing.T, *admission.Controller)
		text string
		want string // in the error; empty: applied
	}{
		"nobody came": {
			use:  func(*testing.T, *admission.Controller) {},
			text: "mode: enforce\nlanes:\n  read: {}\n",
		},
		"one was admitted": {
			use:  admitted(write),
			text: "mode: enforce\nlanes:\n  read: {}\n",
			want: `spillway.yaml:2:1: lanes["write"]: must stay, since requests come to this lane: 1 so far`,
		},
		"one was shed": {
			use: func(t *testing.T, ctrl *admission.Controller) {
				ticket, err := ctrl.TryAdmit(t.Context(), write)
				if err != nil {
					t.Fatal(err)
				}
				defer ticket.Release(admission.Success)
				if _, err := ctrl.TryAdmit(t.Context(), write); err == nil {
					t.Error("a second one is admitted to one slot")
				}
			},
			text: "mode: enforce\nlanes:\n  read: {}\n",
			want: `lanes["write"]: must stay, since requests come to this lane: 2 so far`,
		},
		"misspelled": {
			use:  admitted(write),
			text: "mode: enforce\nlanes:\n  read: {}\n  wirte: {}\n",
			want: `spillway.yaml:2:1: lanes["write"]: must stay, since requests come to this lane: 1 so far; did you mean "wirte"?`,
		},
		"no lanes at all": {
			use:  admitted(write),
			text: "mode: enforce\n",
			want: `spillway.yaml:1:1: lanes["write"]: must stay`,
		},
		"another mistake too": {
			use:  admitted(write),
			text: "mode: enforce\nlanes:\n  read: {limit: {min: -1}}\n",
			want: `lanes["write"]: must stay`,
		},
		"only the mode changes": {
			use:  admitted(write),
			text: strings.Replace(both, "enforce", "shadow", 1),
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := tempFile(t, both)
			ctrl := control(t, path)
			look := looker(t, path, ctrl)
			look()
			c.use(t, ctrl)
			replace(t, path, c.text)
			look()
			s := ctrl.Stats().Config
			switch {
			case c.want == "" && (s.Err != nil || s.Version != 2):
				t.Errorf("not applied: version %d, %v", s.Version, s.Err)
			case c.want != "" && (s.Err == nil || s.Version != 1 || s.Refused != 1):
				t.Errorf("applied: version %d, %d refused, %v", s.Version, s.Refused, s.Err)
			case c.want != "" && !strings.Contains(s.Err.Error(), c.want):
				t.Errorf("refused with\n%v\nwant in it\n%s", s.Err, c.want)
			}
			if c.want != "" {
				admitted(write)(t, ctrl)
			}
		})
	}
}

// What a program applies itself is its own: it knows which lanes it names.
func TestAProgramMayTakeAwayALaneInUse(t *testing.T) {
	ctrl := control(t, tempFile(t, "lanes: {read: {}, write: {}}"))
	admitted(admission.Request{Lane: "write"})(t, ctrl)
	if err := ctrl.Apply(admission.Config{Lanes: map[string]admission.LaneConfig{"read": {}}}); err != nil {
		t.Error(err)
	}
}

func admitted(r admission.Request) func(*testing.T, *admission.Controller) {
	return func(t *testing.T, ctrl *admission.Controller) {
		t.Helper()
		ticket, err := ctrl.Admit(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		ticket.Release(admission.Success)
	}
}
