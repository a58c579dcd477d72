package configfile_test

import (
	"fmt"

	"github.com/spillway-go/spillway/admission"
	"github.com/spillway-go/spillway/admission/configfile"
)

// What is wrong with a file is told with line and column, all of it at once.
func ExampleParse() {
	cfg, err := configfile.Parse("spillway.yaml", []byte(`
mode: shadow
lanes:
  write: {deadline: 2s, limit: {min: 4, max: 200}}
`))
	fmt.Println(cfg.Mode, cfg.Lanes["write"].Deadline, err)

	_, err = configfile.Parse("spillway.yaml", []byte(`
lanes:
  write: {limit: {min: 400, max: 200}}
  read: {dedline: 2s}
`))
	fmt.Println(err)
	// Output:
	// shadow 2s <nil>
	// spillway.yaml:3:24: lanes["write"].limit.min is "400": must be at most max, 200
	// spillway.yaml:4:10: lanes["read"].dedline: unknown field, must be one of mode, limit, queue, gate, deadline, max_cost; did you mean "deadline"?
}

// A config becomes a file that reads back as the same.
func ExampleFormat() {
	text, err := configfile.Format(admission.Config{
		Mode:  admission.Shadow,
		Lanes: map[string]admission.LaneConfig{"write": {Limit: admission.LimitConfig{Max: 200}}},
	})
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// mode: shadow
	// lanes:
	//   write:
	//     limit:
	//       max: 200
	// <nil>
}
