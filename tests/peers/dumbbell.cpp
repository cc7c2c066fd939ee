// A dumbbell in htsim on its barest path, as tests/peers/speed.py describes it: `dumbbell FLOWS MEGABITS SECONDS`.
//
//     senders ──► one drop-tail queue of 1 BDP ──► 10 ms ──► receivers
//        ▲                                                      │
//        └──────────────────────── 10 ms ◄──────────────────────┘
//
// NewReno with an acknowledgement for each packet, as htsim's TCP is. It prints the packets that were delivered in order.

#include <cstdlib>
#include <iostream>
#include <vector>

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

int main(int argc, char **argv) {
    if (argc != 4) {
        std::cerr << "usage: dumbbell FLOWS MEGABITS SECONDS\n";
        return 2;
    }
    const int flows = atoi(argv[1]);
    const uint64_t megabits = strtoull(argv[2], nullptr, 10);
    EventList events;
    events.setEndtime(timeFromSec(atof(argv[3])));
    srand(1);
    Packet::set_packet_size(1500);
    const uint64_t bdp = megabits * 1000000 / 8 * 20 / 1000 / 1500;
    Queue queue(speedFromMbps(megabits), memFromPkt(bdp), events, nullptr);
    Pipe forward(timeFromMs(10), events), back(timeFromMs(10), events);
    TcpRtxTimerScanner timers(timeFromMs(10), events);
    std::vector<TcpSink *> sinks;
    for (int flow = 0; flow < flows; flow++) {
        TcpSrc *source = new TcpSrc(nullptr, nullptr, events);
        TcpSink *sink = new TcpSink();
        timers.registerTcp(*source);
        Route *out = new Route(), *in = new Route();
        out->push_back(&queue);
        out->push_back(&forward);
        out->push_back(sink);
        in->push_back(&back);
        in->push_back(source);
        source->connect(*out, *in, *sink, timeFromSec(drand()));
        sinks.push_back(sink);
    }
    while (events.doNextEvent()) {
    }
    uint64_t packets = 0;
    for (TcpSink *sink : sinks) packets += sink->cumulative_ack() / 1500;
    std::cout << packets << " packets\n";
}
