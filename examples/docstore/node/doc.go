// Package node is a key-value node: a leader that takes writes into its log, and a follower that takes that log in at
// the pace that its disk allows.
//
// Replication is asynchronous, as it is in databases that answer a write when the leader has it: the follower asks for
// the entries after the last one it has applied, and by what it asks for the leader knows how far it has come. The
// difference to the leader's own last entry is the lag. Nothing but the leader's admission keeps it small.
package node
