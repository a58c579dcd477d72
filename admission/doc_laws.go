// # The limit
//
// Law octave holds the geometric mean service time of a lane at a little more
// than its baseline, which is what a request takes when nothing queues behind
// the limit. How much more is the tolerance: 1.28 to 1.82 times the baseline, a
// fifth of the logarithmic distance to the deadline (ten times the baseline gives
// 1.58). The deadline is the lane's, see [LaneConfig], else that of those who
// wait, as measured.
//
// It decides by windows of at least 20 requests and 250 ms (or 2.5 mean service
// times, if that is longer), or of 8 requests in 5 s; while it grows under losses
// 100 ms or 1.2 service times will do. A window raises the limit by at most 65 %,
// and only if it binds: nine tenths of the slots were taken, or half of them and
// an arrival found none, or was over a rule's share of them. It lowers it by at most 26 %, and only if half of the
// slots were taken. Without requests the limit never moves. One that is hardly
// used falls to five times the most that was used of late, and not below
// LimitConfig.Initial for that.
//
// The baseline falls with every faster window, at once with one of 20 requests or
// more in a lane that is at most half used. It rises slowly while the limit does
// not bind, and at LimitConfig.Min; otherwise only a probe can raise it, or
// overload would become normal. A probe halves the limit, or lowers one that
// trials have narrowed to as far below the knee, for some 80 to 300 requests and
// compares. If half the slots serve as much, the rest was a queue inside the back
// end: half is kept, and some more if throughput fell a little. If throughput
// falls with the limit the back end itself is slow: that is its baseline now, and
// the limit goes back to where it was. The first probe comes after a second in
// which the limit binds (after 30 s, if the lane was calm before), later ones
// after 30 s of that, or 40 times as long as the last one took, or at once when
// the limit was cut by a third without growth between, or three windows in a row
// were far too slow; 3 to 30 s lie between such emergencies, unless the limit was
// cut to a third. When a lane probes, the others that can do so at the same time
// ([pid.Joiner]): lanes may share a processor, and one that measures alone
// measures the others.
//
// Where the limit binds steadily, and a few thousand requests can be counted, a trial asks
// whether fewer slots would serve as much: the limit is moved to where a tolerance
// of 1.25 times the baseline would have it, and where that serves as much, to that of
// 1.12 times (at once with a deadline below four times the baseline). Of requests of
// 100 ms and more that many are counted at a limit of 15 and more, or of 50 if they are
// very uneven, and at smaller ones there is no trial. If throughput falls by less than
// 3 %, or 1.5 % with the narrower tolerance, that
// tolerance stays: the rest only waited inside the back end. Its neighbours are tried
// again after 30 s of binding, then after twice as long, up to 8 minutes. A probe that
// finds another baseline brings the wide tolerance back, and so does a limit that falls by
// more than a fifth. Where the limit binds now and then only, the tolerance is 1.25 times
// the baseline without a trial, and less the more slots are free: most moments that were
// measured then were emptier than those in which it matters.
//
// Up to four slots, one more is more than the tolerance, and the limit would go to and
// fro. What it serves at either is compared on the way, and the slot that serves nothing is left
// off, but for a look now and then. So a service of one core comes to one slot, if
// that keeps the core busy.
//
// Overload counts against the limit: outcome [Overload], which is a deadline
// exceeded or, over HTTP, a 503 or 504, and every request still running when its
// deadline passes. When it outweighs success (eight such requests at least, three
// at the floor, and not of those that ran one at a time) the limit falls by up to
// 39 % a window, down to LimitConfig.Min; there the lane rests: it grants nothing
// for a second, then two, four, eight, ten, and tries again in between. Ordinary
// failures say nothing about capacity and are not looked at.
//
// # Why the limit stands where it does
//
// LimitWhy of [LaneStats] and [LimitMove] is the last decision. Of law octave:
//
//   - "start": nothing is measured yet; the limit is Initial, or where the law
//     before it stood.
//   - "grow: faster than the baseline allows": the limit binds and there is
//     tolerance left. The normal way up.
//   - "cut: slower than the baseline allows": the back end queues inside. The
//     limit goes down until it does not. In steady overload it alternates with
//     the line above.
//   - "cut: overload and slow": more than 30 % came out as overload and the rest
//     took a third longer than the baseline.
//   - "cut: more overload than success": most requests fail for want of capacity.
//     Look at the back end first.
//   - "rest: failing at the floor": they do so even at the lowest limit; nothing
//     is granted while Resting holds. The back end is down, or deadlines are
//     shorter than its service time.
//   - "hold: one slot more serves no more": of at most four, as was seen when there was
//     one more.
//   - "cut: one slot less serves as much": likewise.
//   - "hold: the limit does not bind": there are slots enough. If callers are
//     slow or refused all the same, the limit is not the cause.
//   - "hold: calm, and too few samples for how they differ": a quiet lane with
//     few and unlike requests; nothing is learned from them.
//   - "hold: measurement is not finite": a window whose numbers are broken was
//     thrown away.
//   - "probe: measuring the baseline at half the limit": for a moment, see Probing.
//   - "probe: saturated, half the limit serves as much": half is kept, and the
//     next window that binds is followed by another probe.
//   - "probe: baseline lowered": throughput fell, and requests were faster.
//   - "probe: baseline raised": throughput fell somewhat, and requests were slower
//     than the baseline even so.
//   - "probe: elastic, the back end became slower": likewise, but throughput fell
//     with the limit: what was measured is the baseline.
//   - "probe: failed, half the limit kept": more overload than success.
//   - "trial: does another limit serve as much?": for some seconds, or a minute or
//     two where a request takes 400 ms.
//   - "trial: the smaller limit serves as much": it is kept.
//   - "trial: the larger limit serves more": that one is kept.
//   - "trial: nothing learned": the limit ceased to bind, nobody came any more, or
//     something failed.
//   - "probe: nothing learned": too few came out, or they met as many others as
//     before.
//
// A probe that ends "lowered", "raised", "elastic" or "nothing learned" puts the
// limit back. Of a pinned limit:
//
//   - "pinned": LimitConfig.Fixed is set; nothing is measured.
//
// Of law aimd:
//
//   - "grow: no overload": one slot more for each success.
//   - "grow: more success than overload takes away": the sum of both was upwards.
//   - "cut: overload": a tenth less for each. Of law vegas: it was the majority, one
//     step less.
//
// Of law gradient2, whose "cut: more overload than success" counts as twice as slow:
//
//   - "grow: not much slower than the long mean": of ten minutes.
//   - "cut: slower than the long mean": by more than the four slots it adds.
//
// Of law vegas, whose step is one slot, two from a limit of 100 on, three from 1,000:
//
//   - "grow: nothing queues in the back end": by six steps.
//   - "grow: little queues in the back end": by one.
//   - "hold: as much queues in the back end as should": three to six steps.
//   - "cut: much queues in the back end": by one step.
//   - "hold: baseline lowered": a window was the fastest so far.
//   - "hold: baseline measured anew": at random, under whatever load there is.
//
// Of all three:
//
//   - "hold: the limit is not half used": more slots would change nothing.
//
// A limit of your own ([WithLimit]) says what it likes, or nothing.
//
// # The gate
//
// The gate sheds by rank: the tier, and inside it the cohort, 128 of them. It
// looks at the ranks offered in the last ten seconds or so, those it shed too, and
// puts the threshold where the shed ratio asks for. Worse ranks are shed, better
// ones pass, and at the threshold a hash of tenant and Key decides, so that a
// retry meets the same verdict. The order is strict: there is no minimum share
// for a low tier. The cohort is a hash of the tenant that changes at the full
// hour, the same in all processes, unless Priority names one: the same users are
// served or shed by all services of a call graph, and in the next hour it is others.
// Without a tenant all of a tier have one rank, and without a Key chance decides.
//
// The ratio in force is the larger of two: what the lane itself asks for and what
// the signals do. GateConfig.Law is how the lane finds its own:
//
//   - "ff": one less capacity over arrivals, both measured. It lets through a fifth
//     more than the capacity (half more while nobody waits; twice the capacity
//     where the queue carries but a handful within its allowance), since a queue
//     with priorities makes better use of that than the gate. It is armed by
//     losses: from open it begins to shed only within half a second of one. While
//     half of the slots are free the ratio falls by 30 % every 100 ms.
//   - "pid": Cinnamon's loop, normalised by what is offered: in less out less free
//     slots, and a tenth of the queue. It sheds as soon as requests wait.
//   - "off": the lane asks for nothing.
//
// A limit lowered to probe says nothing about capacity, so the ratio does not
// follow it. While the lane rests its own ratio is 0: nothing can be measured.
//
// Each signal has a PID controller, which acts on the effort -ln(1-ratio): an error
// of 10 % above its setpoint adds 0.14 to it every second, and the ratio is 0.99 at
// most. Signals do not add up: the largest counts, and what else is above its
// setpoint follows. A signal without a fresh reading asks for nothing, at once. One
// that is below its setpoint and to whose lanes nobody has come for four seconds
// halves its ratio each period.
//
// Room: while nobody waits and more than a quarter of the slots is free, the
// lane's own ratio sheds nobody. So right after a burst ShedRatio can be above 0
// while nobody is refused. What a signal asks for is shed all the same.
//
// # The queue
//
// A waiter may wait for a third of what its deadline leaves it, give or take a
// fifth. A request without a deadline has the lane's, else ten times the baseline
// within 20 ms and 1 s. The better tier goes first, always. Within a tier it is
// first come first served (QueueMode "FIFO") until the queue has not been empty
// for longer than the last comer's allowance; then the newest goes first ("LIFO")
// until it empties: the oldest are those whose callers give up next.
//
// A tier that asks, together with the better ones, for more than seven tenths of what
// the lane can do is allowed less: 0.68 of that while all fits, and at 1.4 times the
// capacity and beyond 0.3, but always enough for the queue to carry six requests. Where
// all slots are wanted somebody always waits, the next one comes at once, and fresh. Better
// tiers are allowed three quarters more while the gate sheds worse ones: what waits of them
// is a burst that passes, or waits for a probe to end, and the worse ones make room for them.
//
// The queue holds 50, or four for each slot if that is more, unless
// Queue.Capacity says otherwise. When it is full the oldest of the worst tier
// gives way (evicted) to a newcomer of that tier or a better one; a newcomer worse
// than all is refused (queue-full). Whoever would miss its deadline even if it ran
// now is refused when its turn comes (deadline).
//
// # Retry hints
//
// A refused caller is told a second, jittered by half to both sides. When nothing
// comes out well the hint grows with the time since, up to ten seconds, and falls
// by a second each second once answers flow. Those told not to retry at all
// (RetryAfter below 0): tiers t4 and t5, and what is a retry already
// (Request.Attempt). Reason deadline has no hint. During a stop of 5 s, of 16 cores and of
// 50 servers, retries peak at 1.3 times the capacity where clients follow the hints, and
// at 1.7 and 1.9 when it is over; where all are told a second, jittered, at 2.8 and 3.1,
// and at 5.8 and 7.8 where they do not listen:
//
//	go test ./admission/sim -run TestHintsThroughAStop -v
package admission
