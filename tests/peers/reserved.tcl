# [minrate, Figs. 2 and 4] in ns-2: reservations that edge routers mark by token buckets, queues of the module diffserv with
# one virtual queue for each flow, marked and unmarked: `ns reserved.tcl key value …`.
#
#   s0 … s5 ── n0 ── n1 ══ n2 ── n3 ══ n4 ── n5 ── d0 … d5      ══ 10 Mb/s, ── 45 Mb/s, 10 ms each
#
# Sources 0, 1 and 2 have 1, 2 and 4 Mb/s reserved, 3 to 5 have nothing. RED's average is that of the whole queue (WRED);
# thresholds apply to unmarked packets. With `both 1` the same flows run from right to left, too. It prints a line for each
# flow from left to right: source, throughput and what marked packets brought of it [Mb/s].
array set o {depth 0.05 both 0 warmup 20 stop 100 seed 1}
array set o $argv
ns-random [expr {1 + ($o(seed) * 69621) % 2147483646}]
set ns [new Simulator]
set rates {1 2 4 0 0 0}

Agent/TCP set packetSize_ 960
Agent/TCP set window_ 256
Agent/TCP set windowInit_ 1
Agent/TCP set syn_ false
Agent/TCP set delay_growth_ false
Agent/TCP set tcpTick_ 0.1
Agent/TCP set minrto_ 0.2
Agent/TCP set rtxcur_init_ 6.0
Agent/TCP set overhead_ 0

for {set i 0} {$i < 6} {incr i} { set n($i) [$ns node] }
foreach {from to rate} {0 1 45 1 2 10 2 3 45 3 4 10 4 5 45} {
    # Only queues at the ends mark; what follows takes the code points as they come.
    foreach {x y} [list $from $to $to $from] {
        set kind [expr {($x == 0 && $y == 1) || ($x == 5 && $y == 4) ? "dsRED/edge" : "dsRED/core"}]
        $ns simplex-link $n($x) $n($y) ${rate}Mb 10ms $kind
        $ns queue-limit $n($x) $n($y) 100
    }
}
# Hosts: a sends to b for flows from left to right, c to d for those from right to left.
for {set i 0} {$i < 6} {incr i} {
    foreach {name end} {a 0 b 5 c 5 d 0} {
        set host [$ns node]
        set ${name}($i) $host
        $ns duplex-link $host $n($end) 1000Mb 0.01ms DropTail
        $ns queue-limit $host $n($end) 10000
        $ns queue-limit $n($end) $host 10000
    }
}

# Code points: 10 + 2 i what of flow i conforms, 11 + 2 i the rest, and 30 acknowledgements.
proc setup {queue} {
    $queue set numQueues_ 1
    $queue setNumPrec 2
    $queue setMREDMode WRED 0
    $queue meanPktSize 1000
    for {set i 0} {$i < 6} {incr i} {
        $queue addPHBEntry [expr {10 + 2 * $i}] 0 0
        $queue addPHBEntry [expr {11 + 2 * $i}] 0 1
    }
    $queue addPHBEntry 30 0 1
    # Marked packets are lost where the queue is full.
    $queue configQ 0 0 100000 200000 0.02
    $queue configQ 0 1 20 80 0.02
}
proc data {queue i from to} {
    global o rates
    set rate [expr {[lindex $rates $i] * 1e6}]
    if {$rate > 0} {
        set bucket [expr {$rate * $o(depth) / 8}]
        $queue addPolicyEntry [$from id] [$to id] TokenBucket [expr {10 + 2 * $i}] $rate $bucket
    } else {
        $queue addPolicyEntry [$from id] [$to id] Null [expr {11 + 2 * $i}]
    }
}
proc acknowledgements {queue from to} { $queue addPolicyEntry [$from id] [$to id] Null 30 }
proc policers {queue} {
    foreach i {0 1 2} { $queue addPolicerEntry TokenBucket [expr {10 + 2 * $i}] [expr {11 + 2 * $i}] }
    foreach i {3 4 5} { $queue addPolicerEntry Null [expr {11 + 2 * $i}] }
    $queue addPolicerEntry Null 30
}
foreach {x y} {0 1 1 0 1 2 2 1 2 3 3 2 3 4 4 3 4 5 5 4} { setup [[$ns link $n($x) $n($y)] queue] }
set right [[$ns link $n(0) $n(1)] queue]
set left [[$ns link $n(5) $n(4)] queue]
for {set i 0} {$i < 6} {incr i} {
    data $right $i $a($i) $b($i)
    acknowledgements $left $b($i) $a($i)
    data $left $i $c($i) $d($i)
    acknowledgements $right $d($i) $c($i)
}
policers $right
policers $left

set draws [new RNG]
$draws seed [expr {1 + ($o(seed) * 48271) % 2147483646}]
for {set skipped 0} {$skipped < 100} {incr skipped} { $draws uniform 0 1 }
proc flow {from to} {
    global ns draws
    set tcp [new Agent/TCP/Reno]
    set sink [new Agent/TCPSink]
    $ns attach-agent $from $tcp
    $ns attach-agent $to $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at [$draws uniform 0 1] "$ftp start"
}
for {set i 0} {$i < 6} {incr i} {
    flow $a($i) $b($i)
    if {$o(both)} { flow $c($i) $d($i) }
}

# What comes to the last link has passed all queues that lose anything.
set last [[$ns link $n(4) $n(5)] queue]
proc came {i} {
    global last
    return [list [$last getStat pkts [expr {10 + 2 * $i}]] [$last getStat pkts [expr {11 + 2 * $i}]]]
}
proc begin {} {
    global before
    for {set i 0} {$i < 6} {incr i} { set before($i) [came $i] }
}
proc finish {} {
    global before o
    for {set i 0} {$i < 6} {incr i} {
        foreach {marked0 plain0} $before($i) {marked plain} [came $i] {
            set scale [expr {8e-3 / ($o(stop) - $o(warmup))}]
            set marked [expr {$marked - $marked0}]
            puts "$i [expr {($marked + $plain - $plain0) * $scale}] [expr {$marked * $scale}]"
        }
    }
    exit 0
}
$ns at $o(warmup) begin
$ns at $o(stop) finish
$ns run
