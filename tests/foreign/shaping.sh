#!/bin/bash
RATE=${1:-10mbit}
DEV=eth0
sudo tc qdisc del dev $DEV root
sudo tc qdisc add dev $DEV root handle 1: netem delay 50ms 10ms 25% distribution normal \
   loss gemodel 1% 10% 70% 0.1%
sudo tc qdisc add dev $DEV parent 1: handle 2: tbf rate $RATE burst 32kbit latency 400ms
tc qdisc add dev eth1 root netem delay 50ms
tc filter add dev eth0 parent 1: protocol ip u32 match ip dst 10.0.0.1 flowid 1:1
