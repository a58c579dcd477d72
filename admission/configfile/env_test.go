package configfile

import (
	"reflect"
	"testing"

	"github.com/spillway-go/spillway/admission"
)

func TestEnv(t *testing.T) {
	lookup := func(vars map[string]string) Option {
		return func(s *settings) {
			s.env = env{"SPILLWAY", func(name string) (string, bool) { v, ok := vars[name]; return v, ok }}
		}
	}
	file := []byte("lanes:\n  read: {limit: {min: 2, max: 50}}\n  slow-write: {limit: {fixed: 5}}\n")
	cfg, err := Parse("x", file, lookup(map[string]string{
		"SPILLWAY_MODE": "shadow", "SPILLWAY_LIMIT_FIXED": "", "SPILLWAY_LANE_READ_LIMIT_MAX": "70",
		"SPILLWAY_LANE_SLOW_WRITE_LIMIT_FIXED": "9", "OTHER_MODE": "off",
	}))
	want := admission.Config{Mode: admission.Shadow, Lanes: map[string]admission.LaneConfig{
		"read": {Limit: admission.LimitConfig{Min: 2, Max: 70}}, "slow-write": {Limit: admission.LimitConfig{Fixed: 9}}, "default": {},
	}}
	if err != nil || !reflect.DeepEqual(cfg, want) {
		t.Errorf("got  %+v, %v\nwant %+v", cfg, err, want)
	}
	if cfg, err := Parse("x", []byte("{}"), lookup(map[string]string{"SPILLWAY_LIMIT_FIXED": "30"})); err != nil || cfg.Lanes["default"].Limit.Fixed != 30 {
		t.Errorf("without lanes in the file: %+v, %v", cfg, err)
	}
	if cfg, err := Parse("x", []byte("{}"), lookup(nil)); err != nil || cfg.Lanes != nil {
		t.Errorf("without variables: %+v, %v", cfg, err)
	}
	_, err = Parse("x", file, lookup(map[string]string{"SPILLWAY_MODE": "shadwo", "SPILLWAY_LIMIT_MIN": "many", "SPILLWAY_LANE_READ_LIMIT_FIXED": "0", "SPILLWAY_LANE_READ_LIMIT_MAX": "1"}))
	wantErr := `environment: SPILLWAY_MODE is "shadwo": must be one of enforce, shadow, off; did you mean "shadow"?
environment: SPILLWAY_LIMIT_MIN is "many": must be a whole number such as 20
environment: SPILLWAY_LANE_READ_LIMIT_FIXED is "0": must be at least 1
x:2:23: lanes["read"].limit.min is "2": must be at most max, 1`
	if err == nil || err.Error() != wantErr {
		t.Errorf("got\n%v\nwant\n%s", err, wantErr)
	}
	t.Setenv("SPILLWAY_MODE", "off")
	if cfg, err := Parse("x", []byte("{}"), Env("SPILLWAY")); err != nil || cfg.Mode != admission.Off {
		t.Errorf("the process's own: %v, %v", cfg.Mode, err)
	}
}
