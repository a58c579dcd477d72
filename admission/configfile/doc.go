// Package configfile reads an [admission.Config] from a YAML or JSON file, says where
// in it what is wrong, and keeps a running controller as the file says.
//
//	cfg, err := configfile.Load("spillway.yaml")
//	ctrl, err := admission.New(cfg)
//	go configfile.Watch(ctx, "spillway.yaml", ctrl)
//
// # The file
//
// Its fields are those of [admission.Config] under their JSON names, and the comments
// there say what they mean. All may be left out and then have their defaults, but that
// a rule needs its cap.
//
//	mode: enforce                # or shadow, off
//	lanes:
//	  read: {}
//	  write:
//	    limit: {min: 4, max: 200}
//	    deadline: 2s
//	scorecard:
//	  rules:
//	    - {name: each tenant, match: "tenant:*", cap: 50%, under_pressure: 20%}
//	regulators:
//	  lag:                       # a signal that the program brings in by this name
//	    setpoint: 80%
//	    lanes: [write]
//	  memory: {kind: heap, limit: 512MiB}
//
// A duration has its unit (5ms, 1.5s); a bare number is an error, since nobody can
// tell what was meant. A size may have one (64MiB, 10MB). A share is in per cent
// (25%); a regulator's setpoint and limit may also be plain numbers. Names are case
// sensitive. Fields that do not exist, names that come twice, empty values, quoted
// numbers, tags, merge keys and a second document are errors. Aliases of whole values
// are read.
//
// An editor that knows YAML schemas completes and checks the file as it is written;
// the schema is config.schema.json beside this source. Its comment for editors is
//
//	# yaml-language-server: $schema=PATH/config.schema.json
//
// # What is wrong
//
// All of it is said at once, in the order of the file:
//
//	spillway.yaml:5:18: lanes["write"].limit.min is "400": must be at most max, 200
//	spillway.yaml:6:5: lanes["write"].dead_line: unknown field, must be one of mode, limit, queue, gate, deadline, max_cost; did you mean "deadline"?
//
// Signals, guards and stages that the program brings in are known to [Watch], and to [Load]
// if [With] tells it of them.
//
// # On trial
//
// mode: shadow can stand at the top, in a lane, in a rule and in a regulator. What is in
// shadow sheds nobody and counts whom it would have: for the whole and a lane in their
// tiers' Shadow, for a rule in Shadowed and Top of its entry in Rules, for a regulator
// in its entry in Signals, Keyed or Guards of [admission.Stats].
//
// # While running
//
// [Watch] applies a changed file whole or not at all, within a second. What is in
// force stays when the file is wrong, half-written or gone. Requests that run or wait,
// learned limits and the scorecard's counters live through every change, see
// [admission.Controller.Apply]. [Env] lets a few values be overridden by environment
// variables.
//
// A lane can be added at any time, and left out as long as no request has come to it
// since the controller began (those in mode off are not counted). Once one has, the
// program names the lane, and would have its requests found invalid (httpmw answers
// them by 500): Watch then refuses the file and says which lane it lacks. To take such a
// lane away, first run a program that does not name it; or, where the program knows that
// it will not any more, call Apply.
package configfile
