//! One row of results per flow and per link of a run, from what the meters measured.

use varicap_app::Watched;
use varicap_units::{Bytes, Span, Work};

use crate::results::columns::row;
use crate::results::histogram::Histogram;
use crate::results::interval::jain_index;
use crate::results::measure::{CapacityRange, FlowMeasure, LinkMeasure, Transfers};

/// Size of the largest group whose flows get a row each; a larger group gets only its own row.
pub const MOST_ROWS_OF_A_GROUP: usize = 64;

row! {
    /// One flow, or one group of flows taken together, in one run.
    FlowRow {
        label name ("name", "") "Name of the flow: its group, with its number if the group has several.";
        label group ("group", "") "Name of its flow group in the scenario.";
        count flows ("flows", "1") "Flows that the row stands for.";
        amount goodput_bps ("goodput_bps.mean", "b/s") "Application bytes that came in order, over the measured time.";
        amount throughput_bps ("throughput_bps.mean", "b/s") "TCP/IP bytes of data packets that reached the receiver, over the measured time.";
        share goodput_of_capacity ("goodput_of_capacity.mean", "1") "Goodput, of the capacity that the slowest link on the way to the receiver offered in the measured time of the same run, up to what that link sent in this time: what it had sent before and comes in order now had no part of it; nothing where all are unlimited.";
        amount compliant_bps ("compliant_bps.mean", "b/s") "The part of the throughput that marked packets brought; nothing without a reservation.";
        amount lost_tokens_bytes ("lost_tokens_bytes", "B") "Tokens of the reservation that were lost; nothing without one.";
        amount marked_lost_packets ("marked_lost_packets", "packets") "Marked packets that links lost; nothing without a reservation.";
        count sent_packets ("sent_packets", "packets") "Data packets sent, retransmissions included. Segments without data, such as SYNs and FINs, are none, here and in what follows (Linux: `data_segs_out`).";
        count delivered_packets ("delivered_packets", "packets") "Data packets that reached the receiver.";
        count retransmitted_packets ("retransmitted_packets", "packets") "Packets sent again: data, and SYNs and FINs (Linux: `total_retrans`).";
        count timeouts ("timeouts", "1") "Expiries of the retransmission timer.";
        count fast_retransmits ("fast_retransmits", "1") "Fast retransmits.";
        count gave_up ("gave_up", "1") "Connections that gave up, as nothing was answered for too long.";
        amount rtt_mean_ms ("rtt_ms.mean", "ms") "Mean of the sender's samples of the round-trip time: each from when the first segment left that an acknowledgement covers.";
        quantile rtt_p50_ms ("rtt_ms.p50", "ms") "Median of the samples.";
        quantile rtt_p95_ms ("rtt_ms.p95", "ms") "95th percentile of the samples.";
        quantile rtt_p99_ms ("rtt_ms.p99", "ms") "99th percentile of the samples.";
        amount cwnd_mean_packets ("cwnd_packets.mean", "packets") "Mean of cwnd over time, in segments of one MSS.";
        amount cwnd_min_packets ("cwnd_packets.min", "packets") "Least cwnd.";
        amount cwnd_max_packets ("cwnd_packets.max", "packets") "Largest cwnd.";
        count offered_transfers ("offered_transfers", "1") "Transfers that arrived in the measured time, or were under way as it began: those refused, completed and unfinished.";
        count carried_transfers ("carried_transfers", "1") "Those of them that were under way as the measured time began.";
        count refused_transfers ("refused_transfers", "1") "Those of them that were turned away, because `at_most` were under way.";
        count transfers ("transfers", "1") "Those of them that completed in the measured time: their last byte came in order.";
        count unfinished_transfers ("unfinished_transfers", "1") "Those of them that were under way at its end, or whose connections gave up; `fct_ms` does not have them.";
        share_of_transfers missing_transfers ("missing_transfers.mean", "1") "Share of the offered transfers that were refused or unfinished: of so many no completion time is known; nothing where none was offered.";
        count transferred_bytes ("transferred_bytes", "B") "Bytes of the completed transfers.";
        amount fct_mean_ms ("fct_ms.mean", "ms") "Mean flow completion time of the completed transfers only: from the opening of the connection to the last byte in order at the receiver, where the FIN is not awaited.";
        quantile fct_p50_ms ("fct_ms.p50", "ms") "Median flow completion time of the completed transfers; infinite (null in JSON) where so many are unfinished that it is one of theirs.";
        quantile fct_p95_ms ("fct_ms.p95", "ms") "95th percentile of the flow completion time of the completed transfers; infinite (null in JSON) where so many are unfinished that it is one of theirs.";
        amount transfer_throughput_bps ("transfer_throughput_bps.mean", "b/s") "Mean over the completed transfers of the size of each over its completion time.";
        amount bitrate_bps ("bitrate_bps.mean", "b/s") "Mean bitrate of the segments of a video, or frames of a camera, that arrived; nothing for other applications, here and in what follows.";
        share_of_runs rebuffering ("rebuffering.mean", "1") "Share of the time since a video began in which nothing was shown.";
        amount switches ("switches", "1") "Changes of the bitrate from one segment of a video to the next.";
        amount startup_ms ("startup_ms.mean", "ms") "Mean time until a video began, of those that began in the measured time.";
        real qoe_bps ("qoe_bps.mean", "b/s") "Linear quality of experience of a video, per segment: its bitrate, less the change of the bitrate, less 3 Mb for each second of stall and start-up [yin15, eq. (5)]; no number where no segment has come.";
        share_of_runs late ("late.mean", "1") "Share of a camera's frames that came after their deadline.";
        share jain_index ("jain_index", "1") "Jain's fairness index of the goodputs of the flows that the row stands for; nothing for one flow.";
    }
}

row! {
    /// One link in one run.
    LinkRow {
        label name ("name", "") "Name of the link.";
        label flow ("flow", "") "The flow that had the link to itself, where the scenario isolates flows; else empty.";
        amount capacity_bps ("capacity_bps.mean", "b/s") "Capacity offered, over the measured time.";
        amount capacity_min_bps ("capacity_bps.min", "b/s") "Least capacity; nothing on a link that passes delivery opportunities.";
        amount capacity_max_bps ("capacity_bps.max", "b/s") "Greatest capacity.";
        share capacity_at_min ("capacity_at_min.mean", "1") "Share of the measured time in which the capacity was at its least.";
        amount throughput_bps ("throughput_bps.mean", "b/s") "TCP/IP bytes that came through, over the measured time.";
        share utilisation ("utilisation.mean", "1") "TCP/IP bytes that the server sent in the measured time, of the capacity offered; packets that take no capacity do not count. With at-start service a packet keeps its rate when the capacity falls, and this may exceed 1.";
        count offered_packets ("offered_packets", "packets") "Packets that arrived at the link, lost ones included.";
        count delivered_packets ("delivered_packets", "packets") "Packets that came through: they left the server, and were not lost on the channel (those are in `channel_lost_packets`).";
        count dropped_packets ("dropped_packets", "packets") "Packets lost for any cause, on the channel included.";
        count overflowed_packets ("dropped_by.overflow", "packets") "Packets lost because the queue was full.";
        count aqm_dropped_packets ("dropped_by.aqm", "packets") "Packets dropped early by active queue management.";
        count policed_packets ("dropped_by.policing", "packets") "Packets dropped as they arrived because they did not conform to their reservation.";
        count channel_lost_packets ("dropped_by.channel", "packets") "Packets lost on the channel, after they left the server.";
        count dropped_reserved_packets ("dropped_reserved_packets", "packets") "Packets that conformed to a reservation and were lost for any cause.";
        count duplicated_packets ("duplicated_packets", "packets") "Copies of packets that came twice, by the link's `netem`.";
        count corrupted_packets ("corrupted_packets", "packets") "Packets that the link's `netem` damaged: they came through, and their receiver lost them.";
        count marked_packets ("marked_packets", "packets") "Packets marked with congestion experienced.";
        count transmissions ("transmissions", "1") "Link-layer packets that a link with ARQ sent, each as often as it was sent.";
        count retransmissions ("retransmissions", "1") "Those of them that were sent again.";
        share loss_ratio ("loss_ratio", "1") "Lost packets, of those that arrived or were at the link when measuring began.";
        amount backlog_mean_packets ("backlog_packets.mean", "packets") "Mean over time of the packets waiting, the one in service excluded.";
        count backlog_max_packets ("backlog_packets.max", "packets") "Most packets waiting.";
        amount backlog_mean_bytes ("backlog_bytes.mean", "B") "Mean over time of the bytes waiting, the packet in service excluded.";
        count backlog_max_bytes ("backlog_bytes.max", "B") "Most bytes waiting.";
        amount sojourn_mean_ms ("sojourn_ms.mean", "ms") "Mean time from a packet's arrival to its departure from the server.";
        quantile sojourn_p50_ms ("sojourn_ms.p50", "ms") "Median of the sojourn time.";
        quantile sojourn_p95_ms ("sojourn_ms.p95", "ms") "95th percentile of the sojourn time.";
        quantile sojourn_p99_ms ("sojourn_ms.p99", "ms") "99th percentile of the sojourn time.";
    }
}

impl FlowRow {
    /// The row of one flow.
    pub fn new(name: &str, group: &str, measure: &FlowMeasure) -> FlowRow {
        let FlowMeasure { span, done, sender, mss, rtt, .. } = measure;
        let if_reserved = |value: f64| if measure.is_reserved { value } else { f64::NAN };
        let watched = &sender.watched();
        let (pieces, shown) = (watched.pieces as f64, (watched.played + watched.stalled).as_secs_f64());
        let no_transfers = Transfers::default();
        let transfers = measure.transfers.as_deref().unwrap_or(&no_transfers);
        let completion = &transfers.completion;
        let knows_cwnd = measure.cwnd_maximum > Bytes::ZERO;
        let packets = |cwnd: Bytes| {
            if knows_cwnd { ratio(cwnd.as_u64() as f64, mss.as_u64() as f64) } else { f64::NAN }
        };
        let cwnd_mean = ratio(done.cwnd_time as f64, done.cwnd_span.as_nanos() as f64);
        FlowRow {
            name: name.to_owned(),
            group: group.to_owned(),
            flows: 1,
            goodput_bps: per_second(done.in_order, *span),
            throughput_bps: per_second(done.delivered, *span),
            goodput_of_capacity: f64::NAN, // until the links are known
            compliant_bps: if_reserved(per_second(done.compliant, *span)),
            lost_tokens_bytes: if_reserved(sender.lost_tokens.as_bits_f64() / 8.0),
            marked_lost_packets: if_reserved(sender.marked_lost_packets as f64),
            sent_packets: sender.sent_packets,
            delivered_packets: done.delivered_packets,
            retransmitted_packets: sender.retransmitted_packets,
            timeouts: sender.timeouts,
            fast_retransmits: sender.fast_retransmits,
            gave_up: sender.gave_up,
            rtt_mean_ms: mean_ms(rtt),
            rtt_p50_ms: quantile_ms(rtt, 0.5),
            rtt_p95_ms: quantile_ms(rtt, 0.95),
            rtt_p99_ms: quantile_ms(rtt, 0.99),
            cwnd_mean_packets: ratio(cwnd_mean, mss.as_u64() as f64),
            cwnd_min_packets: packets(measure.cwnd_minimum),
            cwnd_max_packets: packets(measure.cwnd_maximum),
            offered_transfers: transfers.offered(),
            carried_transfers: transfers.carried,
            refused_transfers: transfers.refused,
            transfers: completion.count(),
            unfinished_transfers: transfers.unfinished(),
            missing_transfers: ratio(
                (transfers.refused + transfers.unfinished()) as f64,
                transfers.offered() as f64,
            ),
            transferred_bytes: transfers.size.as_u64(),
            fct_mean_ms: mean_ms(completion),
            fct_p50_ms: completion_ms(transfers, 0.5),
            fct_p95_ms: completion_ms(transfers, 0.95),
            bitrate_bps: ratio(watched.bitrates as f64, pieces),
            rebuffering: ratio(watched.stalled.as_secs_f64(), shown),
            switches: if shown > 0.0 { watched.switches as f64 } else { f64::NAN },
            startup_ms: ratio(watched.startup.as_millis_f64(), watched.started as f64),
            qoe_bps: if shown > 0.0 { ratio(quality(watched), pieces) } else { f64::NAN },
            late: if shown > 0.0 { f64::NAN } else { ratio(watched.late as f64, pieces) },
            transfer_throughput_bps: ratio(transfers.throughput as f64, completion.count() as f64),
            jain_index: f64::NAN,
        }
    }

    /// The row of a group taken together: sums of rates and counters, statistics over all of its flows.
    pub fn of_group(group: &str, members: &[FlowMeasure]) -> Option<FlowRow> {
        let (first, rest) = members.split_first()?;
        let mut together = first.clone();
        rest.iter().for_each(|member| together.merge(member));
        let goodputs: Vec<f64> = members.iter().map(|member| member.done.in_order.as_u64() as f64).collect();
        Some(FlowRow {
            flows: members.len() as u64,
            jain_index: jain_index(&goodputs),
            ..FlowRow::new(group, group, &together)
        })
    }
}

/// The rows of one flow group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupRows {
    /// One row per flow, called `NAME` if the group has one flow and otherwise `NAME.0`, `NAME.1`, …; a group of more
    /// than 64 flows has only its own row.
    pub flows: Vec<FlowRow>,
    /// The row of the whole group, if it has several flows.
    pub group: Option<FlowRow>,
}

impl GroupRows {
    /// The rows of the group called `group` with the given members.
    pub fn new(group: &str, members: &[FlowMeasure]) -> GroupRows {
        if let [alone] = members {
            return GroupRows { flows: vec![FlowRow::new(group, group, alone)], group: None };
        }
        let together = FlowRow::of_group(group, members);
        let flows = if members.len() > MOST_ROWS_OF_A_GROUP {
            together.iter().cloned().collect()
        } else {
            let row = |(number, member)| FlowRow::new(&format!("{group}.{number}"), group, member);
            members.iter().enumerate().map(row).collect()
        };
        GroupRows { flows, group: together }
    }
}

impl LinkRow {
    /// The row of one link; `flow` is the flow that had the link to itself, or empty.
    pub fn new(name: &str, flow: &str, measure: &LinkMeasure) -> LinkRow {
        let LinkMeasure { span, done, peak, sojourn, .. } = measure;
        let over_time = |integral: u128| ratio(integral as f64, span.as_nanos() as f64);
        let range = measure.range;
        let range = |value: &dyn Fn(CapacityRange) -> f64| range.map_or(f64::NAN, value);
        let offered = if measure.was_unlimited { f64::NAN } else { done.offered.as_bits_f64() };
        LinkRow {
            name: name.to_owned(),
            flow: flow.to_owned(),
            capacity_bps: ratio(offered, span.as_secs_f64()),
            capacity_min_bps: range(&|range| range.minimum.as_bps() as f64),
            capacity_max_bps: range(&|range| range.maximum.as_bps() as f64),
            capacity_at_min: range(&|range| ratio(range.at_minimum.as_secs_f64(), span.as_secs_f64())),
            throughput_bps: per_second(done.delivered(), *span),
            utilisation: ratio(Work::of(measure.used).as_bits_f64(), offered),
            offered_packets: done.arrived_frames,
            delivered_packets: done.delivered_frames(),
            dropped_packets: done.lost_frames(),
            overflowed_packets: done.overflowed_frames,
            aqm_dropped_packets: done.aqm_dropped_frames,
            policed_packets: done.policed_frames,
            channel_lost_packets: done.channel_lost_frames,
            dropped_reserved_packets: done.reserved_lost_frames,
            duplicated_packets: done.duplicated_frames,
            corrupted_packets: done.corrupted_frames,
            marked_packets: done.marked_frames,
            transmissions: done.transmissions,
            retransmissions: done.retransmissions,
            loss_ratio: ratio(
                done.lost_frames() as f64,
                (done.arrived_frames + done.duplicated_frames + measure.held_frames) as f64,
            ),
            backlog_mean_packets: over_time(done.frame_time),
            backlog_max_packets: u64::from(peak.frames),
            backlog_mean_bytes: over_time(done.byte_time),
            backlog_max_bytes: peak.bytes.as_u64(),
            sojourn_mean_ms: mean_ms(sojourn),
            sojourn_p50_ms: quantile_ms(sojourn, 0.5),
            sojourn_p95_ms: quantile_ms(sojourn, 0.95),
            sojourn_p99_ms: quantile_ms(sojourn, 0.99),
        }
    }
}

/// The sum over the segments of a video of its linear quality of experience. Source: [yin15, eq. (5)], with its weights
/// 1, 3000 and 3000 of bitrates in kb/s and times in seconds (§7.1).
fn quality(watched: &Watched) -> f64 {
    const PER_SECOND: f64 = 3e6;
    let waited = (watched.stalled + watched.startup).as_secs_f64();
    watched.bitrates as f64 - watched.changes as f64 - PER_SECOND * waited
}

/// A quotient; NaN if the divisor is zero.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { f64::NAN }
}

/// A rate in bits per second [b/s].
fn per_second(bytes: Bytes, span: Span) -> f64 {
    ratio(Work::of(bytes).as_bits_f64(), span.as_secs_f64())
}

fn mean_ms(nanos: &Histogram) -> f64 {
    nanos.mean().map_or(f64::NAN, |mean| mean / 1e6)
}

fn quantile_ms(nanos: &Histogram, q: f64) -> f64 {
    nanos.quantile(q).map_or(f64::NAN, |value| Span::from_nanos(value).as_millis_f64())
}

/// The `q`-quantile of the completion times; infinite where it is that of a transfer which has not completed, if all of
/// these take longer than those that have: then nothing is known of it.
fn completion_ms(transfers: &Transfers, q: f64) -> f64 {
    let (rank, completed) = ((q * transfers.begun as f64).ceil(), transfers.completion.count() as f64);
    if rank > completed {
        f64::INFINITY
    } else {
        quantile_ms(&transfers.completion, (rank / completed).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::columns::Row;
    use crate::results::measure::{FlowMeter, LinkMeter, SenderTotals};
    use varicap_net::{Backlog, LossCause};
    use varicap_units::{Rate, Time};

    const MSS: Bytes = Bytes::new(1000);

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn flow(segments: u64) -> FlowMeasure {
        let mut meter = FlowMeter::new(MSS);
        meter.on_cwnd(at(0), MSS * 3);
        for _ in 0..segments {
            meter.on_data(Bytes::new(1040), MSS);
        }
        meter.finish(at(2000), SenderTotals { sent_packets: segments, ..SenderTotals::default() })
    }

    #[test]
    fn goodput_counts_payload_and_throughput_counts_headers() {
        let row = FlowRow::new("a", "a", &flow(10));
        assert_eq!((row.goodput_bps, row.throughput_bps), (40_000.0, 41_600.0));
        assert_eq!((row.cwnd_mean_packets, row.cwnd_max_packets), (3.0, 3.0));
    }

    #[test]
    fn what_was_not_measured_is_not_a_number() {
        let row = FlowRow::new("a", "a", &FlowMeter::new(MSS).finish(at(1), SenderTotals::default()));
        for value in
            [row.rtt_mean_ms, row.rtt_p99_ms, row.cwnd_mean_packets, row.cwnd_min_packets, row.fct_mean_ms]
        {
            assert!(value.is_nan());
        }
        assert_eq!(row.goodput_bps, 0.0);
    }

    #[test]
    fn a_percentile_that_lies_among_unfinished_transfers_is_infinite() {
        let row = |completed: u64, unfinished: u64| {
            let mut meter = FlowMeter::new(MSS);
            (0..completed + unfinished).for_each(|_| meter.on_transfer_begun());
            (0..completed).for_each(|_| meter.on_transfer(MSS, Span::from_millis(8)));
            FlowRow::new("web", "web", &meter.finish(at(1000), SenderTotals::default()))
        };
        let completion = |row: &FlowRow| [row.fct_mean_ms, row.fct_p50_ms, row.fct_p95_ms];
        // The 95th percentile of 20 is the 19th of them.
        assert_eq!(completion(&row(20, 0)), [8.0; 3]);
        assert_eq!(completion(&row(19, 1)), [8.0; 3]);
        assert_eq!(completion(&row(18, 2)), [8.0, 8.0, f64::INFINITY]);
        assert_eq!(completion(&row(9, 11)), [8.0, f64::INFINITY, f64::INFINITY]);
        let none = row(0, 1);
        assert!(none.fct_mean_ms.is_nan() && none.fct_p50_ms.is_infinite());
        assert_eq!((none.offered_transfers, none.unfinished_transfers, none.transfers), (1, 1, 0));
    }

    #[test]
    fn a_group_has_a_row_for_each_flow_and_one_for_all() {
        let rows = GroupRows::new("web", &[flow(10), flow(30)]);
        assert_eq!(rows.flows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["web.0", "web.1"]);
        let together = rows.group.unwrap();
        assert_eq!((together.name.as_str(), together.flows, together.sent_packets), ("web", 2, 40));
        assert_eq!(together.goodput_bps, 160_000.0);
        assert_eq!(together.jain_index, 0.8); // 40^2 / (2 (10^2 + 30^2))
    }

    #[test]
    fn a_lone_flow_has_its_groups_name() {
        let rows = GroupRows::new("web", &[flow(1)]);
        assert_eq!((rows.flows[0].name.as_str(), rows.flows.len(), rows.group), ("web", 1, None));
    }

    #[test]
    fn a_large_group_has_one_row() {
        let rows = GroupRows::new("crowd", &vec![flow(1); 65]);
        assert_eq!((rows.flows.len(), rows.flows[0].flows), (1, 65));
    }

    #[test]
    fn a_link_tells_its_capacity_use_and_losses() {
        let mut meter = LinkMeter::new();
        meter.on_capacity(at(0), Rate::from_bps(80_000));
        for _ in 0..4 {
            meter.on_arrival(at(0), MSS, meter.waiting());
        }
        meter.on_lost(at(0), MSS, LossCause::Overflow);
        meter.on_departure(at(100), at(0), MSS, Backlog { frames: 1, bytes: MSS });
        meter.on_departure(at(200), at(0), MSS, Backlog::default());
        meter.on_lost(at(200), MSS, LossCause::Channel);
        meter.on_departure(at(300), at(0), MSS, Backlog::default());
        let row = LinkRow::new("down", "", &meter.finish(at(1000)));
        assert_eq!((row.capacity_bps, row.utilisation, row.throughput_bps), (80_000.0, 0.3, 16_000.0));
        assert_eq!((row.offered_packets, row.delivered_packets, row.dropped_packets), (4, 2, 2));
        assert_eq!((row.loss_ratio, row.backlog_mean_packets, row.backlog_max_packets), (0.5, 0.3, 2));
        assert_eq!((row.sojourn_mean_ms, row.sojourn_p50_ms), (200.0, row.sojourn_p50_ms));
        assert!((row.sojourn_p50_ms / 200.0 - 1.0).abs() <= 1.0 / 64.0, "half a bucket at most");
    }

    #[test]
    fn unlimited_capacity_has_no_mean_and_no_utilisation() {
        let mut meter = LinkMeter::new();
        meter.on_capacity(at(0), Rate::UNLIMITED);
        let row = LinkRow::new("back", "", &meter.finish(at(1000)));
        assert!(row.capacity_bps.is_nan() && row.utilisation.is_nan());
    }

    #[test]
    fn columns_have_distinct_names_and_places() {
        for columns in [FlowRow::COLUMNS, LinkRow::COLUMNS] {
            for (place, column) in columns.iter().enumerate() {
                let others = &columns[..place];
                assert!(others.iter().all(|other| other.name != column.name && other.path != column.path));
            }
        }
    }
}
