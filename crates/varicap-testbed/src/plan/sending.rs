//! The kernel's release of segments: pacing, and short segments that wait.

use varicap_experiment::FlowSpec;
use varicap_tcp::{Congestion, Nagle, Pacing, TcpConfig};

use super::{Notes, unsupported};
use crate::error::TestbedError;

/// Notes in what the kernel differs.
pub(super) fn check(tcp: &TcpConfig, notes: &mut Notes) {
    if tcp.nagle == Nagle::Rfc896 {
        notes.add(
            "nagle: Linux has Minshall's variant, by which a short segment waits for another short one only",
        );
    }
    let has_rate = match &tcp.congestion {
        Congestion::Ratcp(config) => config.pacing,
        Congestion::Bbr => true,
        _ => false,
    };
    if has_rate && !tcp.pacing_credit {
        notes.add("pacing_credit: Linux always shortens the gap after a segment that left late");
    }
}

/// Whether the flow's sockets ask for pacing.
pub(super) fn paces(tcp: &TcpConfig) -> bool {
    tcp.pacing != Pacing::Off
}

/// The kernel parameters of pacing, which a namespace has only once; flows that do not ask for pacing do not use them.
pub(super) fn parameters(
    tcps: &[(&FlowSpec, &TcpConfig)],
) -> Result<Vec<(&'static str, String, bool)>, TestbedError> {
    let ratios = tcps.iter().filter_map(|(flow, tcp)| match tcp.pacing {
        Pacing::Linux(ratios) => Some((flow, ratios)),
        Pacing::Off => None,
    });
    let mut known = None;
    for (flow, ratios) in ratios {
        let (first, base) = *known.get_or_insert((flow, ratios));
        if ratios != base {
            let key = format!("flows.{}.tcp.pacing.linux", flow.name);
            let value = format!("{} and {}", ratios.slow_start, ratios.avoidance);
            let why = format!(
                "in the kernel ratios are the same for all flows, and `{}` says otherwise",
                first.name
            );
            return Err(unsupported(&key, value, why));
        }
    }
    let Some((_, ratios)) = known else { return Ok(Vec::new()) };
    let (slow_start, avoidance) = ratios.percent();
    Ok(vec![
        ("net.ipv4.tcp_pacing_ss_ratio", slow_start.to_string(), false),
        ("net.ipv4.tcp_pacing_ca_ratio", avoidance.to_string(), false),
        // A segment at a time, not two.
        ("net.ipv4.tcp_min_tso_segs", "1".to_owned(), false),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::tests::{plan_of, refusal_of_flows};
    use crate::plan::Mode;

    #[test]
    fn sockets_pace_by_the_ratios_of_the_scenario() {
        let plan =
            plan_of("stack = \"linux\", pacing = { linux = { avoidance = 1.5 } }", Mode::Stock).unwrap();
        assert!(plan.flows[0].paces);
        let ratios: Vec<_> = plan.sysctls.iter().filter(|(name, ..)| name.contains("pacing")).collect();
        assert_eq!(ratios.iter().map(|(_, value, _)| value.as_str()).collect::<Vec<_>>(), ["200", "150"]);
        let plan = plan_of("stack = \"linux\"", Mode::Stock).unwrap();
        assert!(!plan.flows[0].paces && plan.sysctls.iter().all(|(name, ..)| !name.contains("pacing")));
    }

    #[test]
    fn credit_is_noted_where_a_control_has_a_rate_and_the_scenario_none() {
        let notes = |tcp: &str| {
            let plan = plan_of(&format!("stack = \"linux\", {tcp}"), Mode::Stock).unwrap();
            plan.notes.iter().any(|note| note.starts_with("pacing_credit: "))
        };
        assert!(notes("congestion = \"bbr\", pacing_credit = false"));
        assert!(!notes("congestion = \"bbr\""));
        assert!(!notes("congestion = \"reno\", pacing_credit = false"));
    }

    #[test]
    fn ratios_are_the_same_for_all_flows_that_pace() {
        let flows = |second: &str| {
            refusal_of_flows(&format!(
                "[flows.a]\ntcp = {{ pacing = \"linux\" }}\n[flows.b]\ntcp = {{ {second} }}"
            ))
        };
        let refusal = flows("pacing = { linux = { slow_start = 3.0 } }").unwrap();
        assert!(refusal.starts_with("flows.b.tcp.pacing.linux = 3 and 1.2: "), "{refusal}");
        assert_eq!(flows("pacing = \"off\""), None);
        assert_eq!(flows("pacing = { linux = {} }"), None);
    }

    #[test]
    fn sockets_have_no_delay_unless_short_segments_wait() {
        let plan =
            |nagle: &str| plan_of(&format!("stack = \"linux\", nagle = \"{nagle}\""), Mode::Stock).unwrap();
        let notes =
            |nagle| plan(nagle).notes.iter().any(|note| note.starts_with("nagle: Linux has Minshall's"));
        assert_eq!(
            ["off", "minshall", "rfc896"].map(|nagle| plan(nagle).flows[0].no_delay),
            [true, false, false]
        );
        assert_eq!(["off", "minshall", "rfc896"].map(notes), [false, false, true]);
    }
}
