# Marked and unmarked datagrams through one queue of ns-2's that marks apart (dsRED, RIO coupled), as
# tests/peers/marking.py describes it: `ns marking.tcl key value …`.
#
#     marked ───┐
#               ├── edge (marks) ── 10 Gb/s ── core (RIO) ── rate, delay ──► end
#     unmarked ─┘
#
# Marked packets meet thresholds that are never reached, unmarked ones those of ERED, against the average of both. It prints
# packets, losses at the limit and early losses: of the marked ones, then of the unmarked ones, from `warmup` to `stop`.

array set o { rate 8Mb delay 10ms limit 100 min 20 max 80 maxp 0.02 unmarked 6Mb marked 4Mb warmup 20 stop 220 seed 1 }
array set o $argv

ns-random [expr {1 + ($o(seed) * 69621) % 2147483646}]
set ns [new Simulator]
foreach name {marked unmarked edge core end} { set $name [$ns node] }
foreach source [list $marked $unmarked] {
    $ns duplex-link $source $edge 10000Mb 1ms DropTail
    $ns queue-limit $source $edge 1000000
}
$ns simplex-link $edge $core 10000Mb 1ms dsRED/edge
$ns simplex-link $core $edge 10000Mb 1ms dsRED/core
$ns simplex-link $core $end $o(rate) $o(delay) dsRED/core
$ns simplex-link $end $core 10000Mb $o(delay) DropTail
$ns queue-limit $edge $core 100000
$ns queue-limit $core $edge 100000
$ns queue-limit $core $end $o(limit)

# Code points 10 (marked) and 11 are precedences 0 and 1 of one queue.
foreach {from to} [list $edge $core $core $edge $core $end] {
    set queue [[$ns link $from $to] queue]
    $queue set numQueues_ 1
    $queue setNumPrec 2
    $queue meanPktSize 1000
    $queue setMREDMode RIO-C
    $queue addPHBEntry 10 0 0
    $queue addPHBEntry 11 0 1
    $queue configQ 0 0 100000 100001 0.01
    $queue configQ 0 1 100000 100001 0.01
}
set rio [[$ns link $core $end] queue]
$rio configQ 0 1 $o(min) $o(max) $o(maxp)
set marker [[$ns link $edge $core] queue]
$marker addPolicyEntry [$marked id] [$end id] TokenBucket 10 1000000000 100000000
$marker addPolicyEntry [$unmarked id] [$end id] TokenBucket 10 1 1
$marker addPolicerEntry TokenBucket 10 11

proc poisson {node rate} {
    global ns end
    set udp [new Agent/UDP]
    set null [new Agent/Null]
    $ns attach-agent $node $udp
    $ns attach-agent $end $null
    $ns connect $udp $null
    $udp set packetSize_ 1000
    set traffic [new Application/Traffic/Exponential]
    $traffic set packetSize_ 1000
    $traffic set rate_ 100000Mb
    $traffic set burst_time_ 0
    $traffic set idle_time_ [expr {1000 * 8.0 / [bw_parse $rate]}]
    $traffic attach-agent $udp
    $ns at 0 "$traffic start"
}
poisson $marked $o(marked)
poisson $unmarked $o(unmarked)

proc counts {} {
    global rio
    set counts {}
    foreach code {10 11} { foreach what {pkts drops edrops} { lappend counts [$rio getStat $what $code] } }
    return $counts
}
proc finish {} {
    global before
    foreach now [counts] then $before { puts -nonewline "[expr {$now - $then}] " }
    puts ""
    exit 0
}
$ns at $o(warmup) {set before [counts]}
$ns at $o(stop) finish
$ns run
