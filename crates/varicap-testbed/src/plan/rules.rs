//! Rules of the window and of SACK that no setting of the kernel changes, or none that this mode sets.

use varicap_tcp::congestion::{
    Alpha, Arithmetic, Congestion, Counting, CubicConfig, GrowWhen, Halving, Hystart, Validation,
};
use varicap_tcp::{AckPolicy, RackConfig, Recovery, TcpConfig};

use super::{Mode, Notes, unsupported};
use crate::error::TestbedError;

/// Refuses what the kernel has nothing like, and notes which of its rules differ from what the scenario says.
pub(super) fn check(
    tcp: &TcpConfig,
    key: &impl Fn(&str) -> String,
    mode: Mode,
    notes: &mut Notes,
) -> Result<(), TestbedError> {
    if tcp.grow_when == GrowWhen::MaxFs {
        let why = "Linux's window opens by tcp_is_cwnd_limited, and keeps no maxFS: simulator only";
        return Err(unsupported(&key("grow_when"), "max-fs", why));
    }
    let decays = tcp.validation == Validation::Decay || !tcp.restart_after_idle;
    let is_stock = mode == Mode::Stock;
    let selective = tcp.recovery.is_selective();
    let rules = [
        ("counting", tcp.counting == Counting::Segments),
        ("halving", tcp.halving == Halving::Window),
        ("reduce_once", tcp.reduce_once),
        ("grow_when", tcp.grow_when == GrowWhen::WindowUsed),
        ("validation", decays),
        ("congestion.cubic", is_linux_cubic(&tcp.congestion)),
        ("recovery.rack", is_linux_rack(&tcp.recovery)),
        // Classic mode sets the parameters of these.
        ("restart_after_idle", tcp.restart_after_idle || !is_stock),
        ("duplicate_acks", tcp.duplicate_acks == 3 || !is_stock),
        ("dsack", tcp.dsack || !selective || !is_stock),
    ];
    let others: Vec<&str> = rules.into_iter().filter(|(_, is_linux)| !is_linux).map(|(key, _)| key).collect();
    if !others.is_empty() {
        notes.add(format!("{}: the kernel's rules are those of `stack = \"linux\"`", others.join(", ")));
    }
    let compresses = matches!(&tcp.ack, AckPolicy::Delayed(delayed) if delayed.sack_compression.is_some());
    if compresses && selective && !is_stock {
        notes.add("ack: `sack_compression` is off in classic mode");
    }
    Ok(())
}

/// Whether a CUBIC computes as Linux's, or there is none. Its constants are another matter.
fn is_linux_cubic(congestion: &Congestion) -> bool {
    let Congestion::Cubic(CubicConfig { alpha, arithmetic, hystart, .. }) = congestion else { return true };
    (*alpha, *arithmetic, *hystart) == (Alpha::Constant, Arithmetic::Linux, Hystart::Linux)
}

fn is_linux_rack(recovery: &Recovery) -> bool {
    !matches!(recovery, Recovery::Rack(rack) if *rack != RackConfig::linux())
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan_for;
    use crate::error::TestbedError;
    use crate::kernel::Kernel;
    use crate::plan::{Mode, Plan};

    /// Flows in classic mode on a kernel that has RFC 6675's recovery, or in stock mode on a newer one.
    fn plan(flows: &str, mode: Mode) -> Result<Plan, TestbedError> {
        let release = if mode == Mode::Classic { (5, 15) } else { (6, 18) };
        plan_for(
            flows,
            mode,
            &Kernel { release, controls: vec!["reno".into(), "cubic".into()], modules: Vec::new() },
        )
    }

    fn notes(tcp: &str) -> Vec<String> {
        plan(&format!("a.tcp = {{ {tcp} }}"), Mode::Stock).unwrap().notes
    }

    fn has(notes: &[String], start: &str) -> bool {
        notes.iter().any(|note| note.starts_with(start))
    }

    #[test]
    fn a_limit_of_growth_that_linux_does_not_have_is_refused() {
        let error = plan("a.tcp = { grow_when = \"max-fs\" }", Mode::Stock).unwrap_err().to_string();
        assert!(error.contains("flows.a.tcp.grow_when") && error.contains("maxFS"), "{error}");
    }

    #[test]
    fn rules_that_linux_does_not_follow_are_noted() {
        let all = "counting, halving, reduce_once, grow_when, validation, dsack: the kernel's rules";
        assert!(has(&notes("stack = \"rfc\""), all), "{:?}", notes("stack = \"rfc\""));
        for (key, value) in [
            ("counting", "\"acks\""),
            ("counting", "\"bytes\""),
            ("halving", "\"flight-size\""),
            ("halving", "\"offered-window\""),
            ("reduce_once", "false"),
            ("grow_when", "\"window-limited\""),
            ("validation", "\"restart\""),
            ("restart_after_idle", "false"),
            ("duplicate_acks", "5"),
            ("dsack", "false"),
        ] {
            let notes = notes(&format!("stack = \"linux\", {key} = {value}"));
            assert!(has(&notes, &format!("{key}: the kernel's rules")), "{key} = {value}: {notes:?}");
            assert_eq!(notes.len(), 2, "{notes:?}");
        }
        let rack = "stack = \"linux\", recovery = { rack = { undo = false } }";
        assert!(has(&notes(rack), "recovery.rack: the kernel's rules"));
        // A window that is kept has no rule.
        let kept = notes("stack = \"linux\", restart_after_idle = false, validation = \"restart\"");
        assert!(has(&kept, "restart_after_idle: the kernel's rules"), "{kept:?}");
    }

    #[test]
    fn cubic_computes_as_linux_has_it() {
        assert_eq!(notes("stack = \"linux\", congestion = \"cubic\"").len(), 1);
        for other in ["alpha = \"rfc9438\"", "arithmetic = \"rfc9438\"", "hystart = \"none\""] {
            let notes = notes(&format!("stack = \"linux\", congestion = {{ cubic = {{ {other} }} }}"));
            assert!(has(&notes, "congestion.cubic: the kernel's rules"), "{other}: {notes:?}");
        }
    }

    #[test]
    fn the_slow_start_of_rfc_9406_is_refused() {
        for control in ["cubic", "reno"] {
            let flow = format!("a.tcp.congestion = {{ {control} = {{ hystart = \"plus-plus\" }} }}");
            let error = plan(&flow, Mode::Stock).unwrap_err().to_string();
            assert!(error.starts_with(&format!("flows.a.tcp.congestion = {control}: ")), "{error}");
        }
    }

    #[test]
    fn reported_duplicates_are_those_of_a_whole_namespace() {
        let two = |own: &str| {
            let sack = "recovery = \"sack\", dsack = true";
            plan(&format!("a.tcp = {{ {sack} }}\nb.tcp = {{ {own} }}"), Mode::Classic)
        };
        let flag = |own: &str| {
            let plan = two(own).unwrap();
            plan.sysctls.iter().find(|sysctl| sysctl.0 == "net.ipv4.tcp_dsack").unwrap().1.clone()
        };
        let error = two("recovery = \"sack\", dsack = false").unwrap_err().to_string();
        assert!(error.starts_with("flows.b.tcp.dsack = false: "), "{error}");
        assert_eq!(flag("recovery = \"sack\", dsack = true"), "1");
        // Without SACK there is nothing to report.
        assert_eq!(flag("recovery = \"newreno\", dsack = false"), "1");
    }

    #[test]
    fn classic_neither_compresses_acknowledgements_nor_detects_losses_by_time() {
        let classic = |tcp: &str| plan(&format!("a.tcp = {{ {tcp} }}"), Mode::Classic);
        let compressed = "recovery = \"sack\", ack = { delayed = { sack_compression = \"1 ms\" } }";
        assert!(has(&classic(compressed).unwrap().notes, "ack: `sack_compression` is off"));
        let plain = "recovery = \"newreno\", ack = { delayed = { sack_compression = \"1 ms\" } }";
        assert!(!has(&classic(plain).unwrap().notes, "ack: `sack_compression` is off"));
        let error = classic("recovery = \"rack\"").unwrap_err().to_string();
        assert!(
            error.starts_with("flows.a.tcp.recovery = rack: ") && error.contains("--kernel stock"),
            "{error}"
        );
    }
}
