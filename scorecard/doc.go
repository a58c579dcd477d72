// Package scorecard caps how many requests of one kind may be inflight at
// the same time, where a kind is told by the request's tags: one tenant, one
// tenant's writes, one caller in one lane. It is always on: a tenant over its
// cap is refused even while the service is healthy, so no tenant can take the
// whole of it, and one that goes wrong is contained before anybody else
// feels it.
//
// # Rules
//
// A request carries tags, such as tenant:acme and op:write. A [Rule] is a
// pattern over tags and a [Cap]:
//
//	tenant:acme           the requests of tenant acme, together
//	tenant:*              the requests of each tenant, every tenant by itself
//	tenant:free-*         the same, for tenants whose name begins with free-
//	tenant:*;op:write     the writes of each tenant by itself
//
// A rule looks only at requests that carry every key it names; a tag that is
// there with an empty value is a value like any other.
//
// Rules that name the same set of keys form a group, whatever the order of
// the keys. Within a group the first rule that matches counts, so an
// exception stands before what it is an exception from: tenant:acme, then
// tenant:*. The other way round it could never count, and is refused as an error.
// Across groups all count: a write by acme is counted by tenant:*
// and by tenant:*;op:write, and takes both counters or neither. A Card has at
// most 8 groups, and a rule names at most 7 keys.
//
// A shadow rule is counted and reported, and never refuses. Shadow rules form
// groups apart from those enforced, so adding one changes nobody's verdict,
// even if it would stand before an enforced rule.
//
// # Bounded work and memory
//
// Rules are compiled when they are set. What a request costs depends on the
// number of groups and of rules with *, hardly on that of exceptions, and it
// allocates nothing unless it brings a value that a rule with * does not know
// yet. The first 64 tags of a request are read and no more, and of tags with
// the same key the first, so put the tags that rules name in front.
//
// At most 10,000 values (see [Card.SetMaxTenants]) have a counter of their
// own. While there is no room for another, and for values longer than 256
// bytes, all further values share one counter per rule, its other bucket, under
// the cap that one value has. [Card.Sweep] makes room again.
//
// # Where the idea comes from
//
// Rules over tags, all-or-nothing counting and rules on trial follow the
// scorecard of Dropbox's load_management
// (https://github.com/dropbox/load_management), and its use in the load
// manager of Uber's databases.
package scorecard
