//! A resolved scenario in plain numbers: what an analysis needs to know of a flow and its path.

use serde_json::{Value as Json, json};
use varicap_net::{AbrConfig, CapacityParts};
use varicap_tcp::LARGEST_WINDOW;
use varicap_units::{Amount, Bytes, Rate};

use crate::resolve::network::{
    EndpointSpec, FeedbackSpec, FlowSpec, LinkSpec, Network, ReservationSpec, Transport,
};
use crate::resolve::parts::arq;
use crate::resolve::topology::Placed;
use crate::scenario::Scenario;
use crate::scenario::document::join_path;

/// The flows and links of each network, numbers in seconds, bytes and b/s (null: unlimited), choices as in a file.
/// Links and flows have the `path` of their table; routes are indices of links.
pub fn facts(scenario: &Scenario, networks: &[Network]) -> Json {
    // A network that was resolved has a layout.
    let layout = scenario.layout().map(|layout| layout.links).unwrap_or_default();
    let networks = networks.iter().map(|network| {
        let links: Vec<Json> =
            network.links.iter().zip(&layout).map(|(link, placed)| link_facts(link, placed)).collect();
        let flows: Vec<Json> = network.flows.iter().map(|flow| flow_facts(network, flow)).collect();
        json!({ "links": links, "flows": flows })
    });
    networks.collect()
}

fn link_facts(link: &LinkSpec, placed: &Placed<'_>) -> Json {
    let parts = &link.parts;
    json!({
        "name": &*link.name,
        "path": placed.path,
        "capacity": placed.config.capacity,
        "mean_bps": rate(link.mean_capacity),
        "service": parts.service,
        "queue": parts.queue,
        "limit_bytes": size(parts.queue.room(parts.packet, parts.bdp)),
        "packet_bytes": parts.packet.as_u64(),
        "framed_bytes": parts.framing.framed(parts.packet).as_u64(),
        "delay": placed.delay,
        "delay_s": parts.delay.mean().as_secs_f64(),
        "handover": placed.handover,
        "loss": placed.config.loss,
        "channel": arq::channel_facts(&placed.config.loss),
        "framing": parts.framing,
        "arq": arq::facts(link, &placed.config),
    })
}

fn flow_facts(network: &Network, flow: &FlowSpec) -> Json {
    let mut facts = json!({
        "name": &*flow.name,
        "path": join_path(&["flows", &flow.name]),
        "count": flow.count,
        "packet_bytes": flow.packet.as_u64(),
        "base_rtt_s": network.base_rtt(flow).as_secs_f64(),
        "access_delay_s": flow.access_delay.as_secs_f64(),
        "jitter_s": flow.jitter.as_secs_f64(),
        "route": flow.forward,
        "route_back": flow.reverse,
        "feedback": flow.feedback.as_ref().map(feedback_facts),
        "reservation": flow.reservation.as_ref().map(reservation_facts),
        "abr": flow.abr.as_ref().map(|abr| source_facts(&abr.config)),
    });
    let more = match &flow.transport {
        Transport::Tcp { tcp, app } => {
            let window = |amount: Amount| size(amount.bytes(tcp.mss, Bytes::ZERO));
            json!({
                "app": app,
                "tcp": tcp,
                "mss_bytes": tcp.mss.as_u64(),
                "initial_window_bytes": window(tcp.initial_window),
                "max_window_bytes": window(tcp.max_window),
                // Unlimited is TCP's largest window, which matters only where the path holds more.
                "receive_window_bytes": match network.largest_window_rate(flow) {
                    Some(_) => size(LARGEST_WINDOW),
                    None => window(tcp.receive_window),
                },
            })
        }
        Transport::Datagrams(datagrams) => json!({ "datagrams": datagrams }),
        Transport::Endpoint { endpoint: EndpointSpec::Quic(quic), app, .. } => {
            json!({ "app": app, "quic": quic })
        }
        Transport::Endpoint { endpoint: EndpointSpec::Named(name), app, .. } => {
            json!({ "app": app, "endpoint": name })
        }
    };
    if let (Some(facts), Json::Object(more)) = (facts.as_object_mut(), more) {
        facts.extend(more);
    }
    facts
}

fn feedback_facts(feedback: &FeedbackSpec) -> Json {
    json!({
        "links": feedback.links,
        "share": feedback.share,
        "estimator": feedback.estimator,
        "delay_s": feedback.delay.as_secs_f64(),
        "quantum_bps": feedback.quantum.map(Rate::as_bps),
        "loss": feedback.loss,
        "expires_s": feedback.expires.map(|span| span.as_secs_f64()),
        "scone": feedback.scone,
        "cap": feedback.cap,
    })
}

fn reservation_facts(reservation: &ReservationSpec) -> Json {
    json!({
        "mean_bps": reservation.rate.mean_rate().as_bps(),
        "is_constant": matches!(reservation.rate, CapacityParts::Constant(_)),
        "is_timed": reservation.terms.timed.is_some(),
        "marked_at": reservation.marked_at,
    })
}

fn source_facts(source: &AbrConfig) -> Json {
    let unbounded = AbrConfig { rate: source.rate, service: source.service, ..AbrConfig::default() };
    json!({ "rate_bps": source.rate.and_then(rate), "is_bounded": *source != unbounded })
}

fn rate(rate: Rate) -> Option<u64> {
    (!rate.is_unlimited()).then_some(rate.as_bps())
}

fn size(bytes: Bytes) -> Option<u64> {
    (bytes != Bytes::MAX).then_some(bytes.as_u64())
}
