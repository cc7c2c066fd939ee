mm-delay 50 mm-loss uplink 0.01 mm-link --uplink-queue=droptail --uplink-queue-args="packets=100" up.trace down.trace -- iperf3 -c 1.2.3.4
