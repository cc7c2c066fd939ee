//! The names of all random streams of a run, each spelled here and nowhere else.
//!
//! Results depend on them: a stream with another name draws other numbers. So no name may ever change, and two parts
//! must never share one.

/// The name of a connection, after which its own streams are named: its flow group and its number there; transfers that arrive have no
/// number of their own, and share the names of their group.
pub fn connection(flow: &str, member: Option<u32>) -> String {
    match member {
        Some(member) => format!("{flow}.{member}"),
        None => flow.to_owned(),
    }
}

/// When a member of a flow group starts.
pub fn start(flow: &str, member: u32) -> String {
    format!("flow.{flow}.{member}.start")
}

/// How long the sender of a member of a flow group takes to process each acknowledgement.
pub fn jitter(flow: &str, member: u32) -> String {
    format!("flow.{flow}.{member}.jitter")
}

/// The stream of the application of a member of a flow group.
pub fn app(flow: &str, member: u32) -> String {
    format!("flow.{flow}.{member}.app")
}

/// The gaps between the datagrams of a member of a flow group.
pub fn gaps(flow: &str, member: u32) -> String {
    format!("flow.{flow}.{member}.gaps")
}

/// How late the timer of a member's reservation runs out.
pub fn delay(flow: &str, member: u32) -> String {
    format!("flow.{flow}.{member}.delay")
}

/// The stream of the congestion control of a connection; `connection` is what [`connection`] says.
pub fn control(connection: &str) -> String {
    format!("flow.{connection}.control")
}

/// The keys and identifiers of a member of a flow group whose transport is not ours, or of all of its transfers that arrive.
pub fn endpoint(flow: &str, member: Option<u32>) -> String {
    format!("flow.{}.endpoint", connection(flow, member))
}

/// When the transfers of a flow group arrive.
pub fn arrivals(flow: &str) -> String {
    format!("flow.{flow}.arrivals")
}

/// How large the transfers of a flow group are.
pub fn sizes(flow: &str) -> String {
    format!("flow.{flow}.sizes")
}

/// Which rate updates a connection does not hear; `connection` is what [`connection`] says.
pub fn feedback(connection: &str) -> String {
    format!("flow.{connection}.feedback")
}

/// When a connection asks for throughput advice; `connection` is what [`connection`] says.
pub fn advice(connection: &str) -> String {
    format!("flow.{connection}.advice")
}

/// The parts of a link that draw random numbers: its capacity, its loss, the channel that its loss follows, its queue,
/// its delay, what it loses at handovers, what it copies and damages.
pub const LINK_PARTS: [&str; 7] = ["capacity", "loss", "channel", "queue", "delay", "handover", "netem"];

/// The stream of a part of a link; `part` is one of [`LINK_PARTS`], or `queue.CLASS` for the queue of a class.
pub fn link(link: &str, part: &str) -> String {
    let is_known = LINK_PARTS.contains(&part) || part.starts_with("queue.");
    debug_assert!(is_known, "`{part}` is not among the random streams of a link");
    format!("link.{link}.{part}")
}

/// How far into their traces the links of a run begin: one for all of them, since traces that were recorded together
/// belong together.
pub fn traces() -> String {
    "traces.offset".to_owned()
}

/// The stream of the delays that handovers add: one for all links of a run, since both directions of a path are handed over together.
pub fn handovers() -> String {
    "handovers".to_owned()
}

/// When the first handover of a run begins, as a share of the period: one for all its links.
pub fn handover_phase() -> String {
    "handovers.phase".to_owned()
}

/// Which of several networks an episode is in.
pub fn episode() -> String {
    "episode.network".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_never_change() {
        let of_flow = [
            start("web", 3),
            jitter("web", 3),
            app("web", 3),
            gaps("web", 3),
            delay("web", 3),
            control(&connection("web", Some(3))),
            arrivals("web"),
            sizes("web"),
            feedback(&connection("web", Some(3))),
            feedback(&connection("web", None)),
            advice(&connection("web", Some(3))),
            endpoint("web", Some(3)),
            endpoint("web", None),
        ];
        let expected = [
            "flow.web.3.start",
            "flow.web.3.jitter",
            "flow.web.3.app",
            "flow.web.3.gaps",
            "flow.web.3.delay",
            "flow.web.3.control",
            "flow.web.arrivals",
            "flow.web.sizes",
            "flow.web.3.feedback",
            "flow.web.feedback",
            "flow.web.3.advice",
            "flow.web.3.endpoint",
            "flow.web.endpoint",
        ];
        assert_eq!(of_flow, expected);
        assert_eq!(
            [traces(), handovers(), handover_phase(), episode()],
            ["traces.offset", "handovers", "handovers.phase", "episode.network"]
        );
        assert_eq!(link("down", "queue.bulk"), "link.down.queue.bulk");
        let of_link = LINK_PARTS.map(|part| link("down", part));
        let expected = ["capacity", "loss", "channel", "queue", "delay", "handover", "netem"]
            .map(|part| format!("link.down.{part}"));
        assert_eq!(of_link, expected);
    }
}
