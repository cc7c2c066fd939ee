# A dumbbell in ns-2, as tests/peers/peers.py describes it: `ns dumbbell.tcl key value …`.
#
#     sender 0 ──┐                                          ┌── receiver 0
#     sender 1 ──┤ left ── rate, delay, queue, loss ──► right ├── receiver 1
#        …       │      ◄── back, delay ────────────────    │      …
#
# A flow is `{tcp variant start access_delay packets}` or `{poisson|cbr rate start}`. It prints one line for each flow and one for the link;
# goodput is counted between `warmup` and `stop`, at the sender's cumulative acknowledgement.

array set o {
    rate 1.5Mb back 1000Mb delay 30ms queue DropTail limit 20 loss 0 steps {} flows {} warmup 10 stop 60 seed 1
    window 100000 delack 0 delack_interval 0.1 tick 0.01 minrto 0.2 initrto 3.0 initial_window 1 syn 0 jitter 0
    red {} tcp {} newreno {}
}
array set o $argv

ns-random [expr {1 + ($o(seed) * 69621) % 2147483646}]
set ns [new Simulator]

set variants(tahoe)   {Agent/TCP         Agent/TCPSink}
set variants(reno)    {Agent/TCP/Reno    Agent/TCPSink}
set variants(newreno) {Agent/TCP/Newreno Agent/TCPSink}
set variants(sack)    {Agent/TCP/Sack1   Agent/TCPSink/Sack1}
set variants(linux)   {Agent/TCP/Linux   Agent/TCPSink/Sack1}

# ns-2's streams of neighbouring seeds begin alike: spread the seeds, and skip the beginning.
proc stream {seed} {
    set draws [new RNG]
    $draws seed [expr {1 + ($seed * 48271) % 2147483646}]
    for {set skipped 0} {$skipped < 100} {incr skipped} { $draws uniform 0 1 }
    return $draws
}
set draws [stream $o(seed)]

foreach {name value} $o(red) { Queue/RED set $name $value }
Agent/TCP set window_ $o(window)
Agent/TCP set windowInit_ $o(initial_window)
Agent/TCP set syn_ [expr {$o(syn) ? "true" : "false"}]
# Else the acknowledgement of the first data would be taken for that of a SYN, and not open the window.
Agent/TCP set delay_growth_ [expr {$o(syn) ? "true" : "false"}]
Agent/TCP set tcpTick_ $o(tick)
Agent/TCP set minrto_ $o(minrto)
Agent/TCP set rtxcur_init_ $o(initrto)
Agent/TCP set overhead_ $o(jitter)
Agent/TCPSink/DelAck set interval_ $o(delack_interval)
Agent/TCPSink/Sack1/DelAck set interval_ $o(delack_interval)
foreach {name value} $o(tcp) { Agent/TCP set $name $value }

foreach {name value} $o(newreno) { Agent/TCP/Newreno set $name $value }

set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right $o(rate) $o(delay) $o(queue)
$ns simplex-link $right $left $o(back) $o(delay) DropTail
$ns queue-limit $left $right $o(limit)
$ns queue-limit $right $left 1000000
set monitor [$ns monitor-queue $left $right ""]

if {$o(loss) > 0} {
    set errors [new ErrorModel]
    $errors unit pkt
    $errors set rate_ $o(loss)
    set law [new RandomVariable/Uniform]
    $law use-rng [stream [expr {$o(seed) + 1000003}]]
    $errors ranvar $law
    $errors drop-target [new Agent/Null]
    $ns link-lossmodel $errors $left $right
}

foreach {at rate} $o(steps) {
    $ns at $at "[[$ns link $left $right] link] set bandwidth_ $rate"
}

# A private wire of each direction, for a flow with an access delay.
proc attach {agent node delay} {
    global ns
    if {$delay > 0} {
        set end [$ns node]
        $ns duplex-link $end $node 100000Mb ${delay}s DropTail
        $ns queue-limit $end $node 1000000
        $ns queue-limit $node $end 1000000
        set node $end
    }
    $ns attach-agent $node $agent
}

proc start_tcp {index variant start access packets} {
    global ns o draws variants left right sources finished
    foreach {source sink} $variants($variant) {}
    if {$o(delack)} { append sink /DelAck }
    set tcp [new $source]
    set end [new $sink]
    attach $tcp $left $access
    $ns attach-agent $right $end
    $ns connect $tcp $end
    $tcp set fid_ $index
    set sources($index) $tcp
    set finished($index) -1
    if {$variant == "linux"} { $ns at 0 "$tcp select_ca cubic" }
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    if {$packets > 0} {
        $tcp proc done {} "global finished ns; set finished($index) \[\$ns now\]"
        $ns at $start "$tcp advance $packets"
    } else {
        $ns at $start "$ftp start"
    }
}

proc start_datagrams {kind rate start} {
    global ns o left right
    set udp [new Agent/UDP]
    $ns attach-agent $left $udp
    set null [new Agent/Null]
    $ns attach-agent $right $null
    $ns connect $udp $null
    $udp set packetSize_ 1000
    if {$kind == "cbr"} {
        set traffic [new Application/Traffic/CBR]
        $traffic set rate_ $rate
    } else {
        # Nothing but idle times, exponential, each with one packet at its end: Poisson.
        set traffic [new Application/Traffic/Exponential]
        $traffic set rate_ 100000Mb
        $traffic set burst_time_ 0
        $traffic set idle_time_ [expr {1000 * 8.0 / [bw_parse $rate]}]
    }
    $traffic set packetSize_ 1000
    $traffic attach-agent $udp
    $ns at $start "$traffic start"
}

set index 0
foreach flow $o(flows) {
    switch [lindex $flow 0] {
        tcp {
            foreach {_ variant start spread access packets} $flow {}
            start_tcp $index $variant [expr {$start + $spread * [$draws uniform 0 1]}] $access $packets
        }
        default {
            foreach {kind rate start} $flow {}
            start_datagrams $kind $rate $start
        }
    }
    incr index
}

proc mark {} {
    global sources acked expired monitor before
    foreach index [array names sources] {
        set acked($index) [$sources($index) set ack_]
        set expired($index) [$sources($index) set nrexmit_]
    }
    foreach name {parrivals_ pdrops_ pdepartures_ bdepartures_} { set before($name) [$monitor set $name] }
}

proc finish {} {
    global o sources acked expired monitor before finished
    set seconds [expr {$o(stop) - $o(warmup)}]
    foreach index [lsort -integer [array names sources]] {
        set tcp $sources($index)
        set packets [expr {[$tcp set ack_] - $acked($index)}]
        set goodput [expr {$packets * [$tcp set packetSize_] * 8.0 / $seconds}]
        puts "flow $index goodput_bps $goodput sent [$tcp set ndatapack_] resent [$tcp set nrexmitpack_]\
            timeouts [expr {[$tcp set nrexmit_] - $expired($index)}] cuts [$tcp set ncwndcuts_] finished $finished($index)"
    }
    foreach name {parrivals_ pdrops_ pdepartures_ bdepartures_} {
        append line " $name [expr {[$monitor set $name] - $before($name)}]"
    }
    puts "link$line"
    exit 0
}

$ns at $o(warmup) mark
$ns at $o(stop) finish
$ns run
