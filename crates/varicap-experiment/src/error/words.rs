//! The words that were probably meant by those that the format does not have.

use crate::scenario::schema;

/// The meaning of a word of another program, or of everyday speech.
enum Means {
    /// The key or the name of this format.
    This(&'static str),
    /// Something that has no single word here: advice for tables that have this key.
    Advice(&'static str, &'static str),
}

use Means::{Advice, This};

/// On a link, where somebody looks for what only flows have.
const OF_A_FLOW: &str = "`delay` is all of a link's; a flow has more in its own `access_delay` (flows.NAME)";

/// Words of other programs. A word may stand here several times: the first meaning that the table at hand has is
/// suggested.
const SYNONYMS: &[(&str, Means)] = &[
    ("application", This("app")),
    ("traffic", This("app")),
    ("workload", This("app")),
    ("extra_delay", This("access_delay")),
    ("extra_rtt", This("access_delay")),
    ("extra_delay", Advice("delay", OF_A_FLOW)),
    ("extra_rtt", Advice("delay", OF_A_FLOW)),
    ("access_delay", Advice("delay", OF_A_FLOW)),
    ("bandwidth", This("capacity")),
    ("bw", This("capacity")),
    ("rate", This("capacity")),
    ("speed", This("capacity")),
    ("throughput", This("capacity")),
    ("bandwidth", This("rate")),
    ("bitrate", This("rate")),
    ("latency", This("delay")),
    ("propagation_delay", This("delay")),
    ("owd", This("delay")),
    ("buffer", This("queue")),
    ("aqm", This("queue")),
    ("qdisc", This("queue")),
    ("plr", This("loss")),
    ("loss_rate", This("loss")),
    ("error_rate", This("loss")),
    ("buffer", This("limit")),
    ("capacity", This("limit")),
    ("size", This("limit")),
    ("max_size", This("limit")),
    ("cc", This("congestion")),
    ("cca", This("congestion")),
    ("congestion_control", This("congestion")),
    ("algorithm", This("congestion")),
    ("loss_recovery", This("recovery")),
    ("segment_size", This("mss")),
    ("rwnd", This("receive_window")),
    ("initcwnd", This("initial_window")),
    ("initial_cwnd", This("initial_window")),
    ("iw", This("initial_window")),
    ("ssthresh", This("initial_ssthresh")),
    ("time", This("duration")),
    ("length", This("duration")),
    ("runs", This("seeds")),
    ("replications", This("seeds")),
    ("repetitions", This("seeds")),
    ("random_seed", This("seed")),
    ("warm_up", This("warmup")),
    ("flow", This("flows")),
    ("network", This("topology")),
    ("number", This("count")),
    ("end", This("stop")),
    ("udp", This("datagrams")),
    ("rtt", Advice("access_delay", "a flow's round trip is that of its links and twice its `access_delay`")),
    (
        "rtt",
        Advice(
            "delay",
            "`delay` is of one direction; the reverse link has the same unless it says otherwise",
        ),
    ),
    ("droptail", This("drop-tail")),
    ("fifo", This("drop-tail")),
    ("pfifo", This("drop-tail")),
    ("taildrop", This("drop-tail")),
    ("bulk", This("greedy")),
    ("ftp", This("greedy")),
    ("file", This("transfer")),
    ("web", This("arrivals")),
    ("poisson", This("arrivals")),
    ("onoff", This("on-off")),
    ("new-reno", This("newreno")),
    ("bbr1", This("bbr")),
    ("bbrv1", This("bbr")),
    ("bbrv3", This("bbr3")),
    ("mahimahi", This("opportunities")),
    ("csv", This("trace")),
    ("random", This("bernoulli")),
    ("deterministic", This("fixed")),
    ("constant", This("fixed")),
];

/// Congestion controls that Linux has and the simulator has not.
const OF_THE_KERNEL: [&str; 12] = [
    "bic",
    "cdg",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "scalable",
    "veno",
    "westwood",
    "yeah",
];

/// The name among `known` that `text` was probably meant to be, and a sentence that says so; the name is absent where
/// only advice can be given.
pub(crate) fn meant<'a>(text: &str, known: &[&'a str]) -> Option<(Option<&'a str>, String)> {
    let word = text.to_ascii_lowercase().replace('-', "_");
    let synonyms = SYNONYMS.iter().filter(|(typed, _)| typed.replace('-', "_") == word);
    for (_, means) in synonyms {
        let (This(there) | Advice(there, _)) = means;
        let Some(there) = known.iter().find(|name| *name == there) else { continue };
        return Some(match means {
            This(_) => (Some(there), did_you_mean(there)),
            Advice(_, advice) => (None, (*advice).to_owned()),
        });
    }
    if known.contains(&"cubic") && OF_THE_KERNEL.contains(&word.as_str()) {
        let how = format!(
            "`{word}` is in the kernel engine only: write `congestion = {{ custom = \"{word}\" }}`, and run it with \
             `--engine kernel`"
        );
        return Some((None, how));
    }
    nearest(text, known.iter().copied()).map(|name| (Some(name), did_you_mean(name)))
}

/// Whether `name` is only the nearest to `text`, and not another word or another spelling of it.
pub(crate) fn is_guess(text: &str, name: &str) -> bool {
    let is_synonym = |(typed, means): &(&str, Means)| {
        let (This(there) | Advice(there, _)) = means;
        normal(typed) == normal(text) && *there == name
    };
    normal(text) != normal(name) && !SYNONYMS.iter().any(is_synonym)
}

/// The path, from the table at `path`, of a key that belongs into a table within it.
pub(crate) fn in_another_table(text: &str, path: &[&str]) -> Option<String> {
    let schema::Kind::Table(keys) = schema::kind(path) else { return None };
    let tables: Vec<(&String, Vec<String>)> = (keys.iter())
        .filter_map(|key| match schema::kind(&[path, &[key.as_str()]].concat()) {
            schema::Kind::Table(names) => Some((key, names)),
            _ => None,
        })
        .collect();
    let exact = tables.iter().find(|(_, names)| names.iter().any(|name| name == text));
    if let Some((key, _)) = exact {
        return Some(format!("{key}.{text}"));
    }
    tables.iter().find_map(|(key, names)| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Some(format!("{key}.{}", meant(text, &names)?.0?))
    })
}

fn did_you_mean(name: &str) -> String {
    format!("did you mean `{name}`?")
}

/// The name among `names` that `text` was probably meant to be.
pub(crate) fn nearest<'a>(text: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Long names may contain more typing errors; short ones must nearly match.
    let length = text.chars().count();
    let most = (length / 3).clamp(1, 3);
    names
        .into_iter()
        .filter(|name| name.len() <= 64 && text.len() <= 64)
        .map(|name| (distance(text, name), name))
        .filter(|(distance, _)| *distance <= most && *distance < length)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The number of insertions, deletions, replacements and swaps of neighbours that turn one word into the other (optimal
/// string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (normal(a), normal(b));
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

/// Normalises a word so that `-` equals `_`, and capitals equal small letters.
fn normal(word: &str) -> Vec<char> {
    word.chars().map(|c| if c == '-' { '_' } else { c.to_ascii_lowercase() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_pen_are_recognised() {
        let keys = ["delay", "capacity", "queue", "loss", "min_threshold"];
        assert_eq!(nearest("dealy", keys), Some("delay"));
        assert_eq!(nearest("min-threshold", keys), Some("min_threshold"));
        assert_eq!(nearest("bandwidth", keys), None);
        assert_eq!(nearest("", keys), None);
        assert_eq!(nearest("d", ["a", "b"]), None);
    }

    #[test]
    fn words_of_other_programs_are_understood() {
        let flow = ["app", "access_delay", "count"];
        assert_eq!(meant("application", &flow).unwrap().0, Some("app"));
        assert_eq!(meant("extra-delay", &flow).unwrap().0, Some("access_delay"));
        let link = ["capacity", "delay", "queue"];
        for word in ["extra_delay", "access_delay"] {
            assert!(meant(word, &link).unwrap().1.contains("`access_delay` (flows.NAME)"), "{word}");
        }
        assert_eq!(meant("bandwidth", &["rate", "size"]).unwrap().0, Some("rate"));
        assert_eq!(meant("bandwidth", &flow), None);
        let (name, how) = meant("HTCP", &["reno", "cubic"]).unwrap();
        assert_eq!(name, None);
        assert!(how.contains("custom = \"htcp\"") && how.contains("--engine kernel"), "{how}");
        assert_eq!(in_another_table("cc", &["flows", "a"]).as_deref(), Some("tcp.congestion"));
        assert_eq!(in_another_table("nonsense", &["flows", "a"]), None);
    }

    #[test]
    fn what_the_simulator_has_is_not_of_the_kernel_alone() {
        let schema::Kind::Choice(names) = schema::kind(&["tcp", "congestion"]) else { panic!("no choice") };
        for name in OF_THE_KERNEL {
            assert!(names.iter().all(|known| known != name), "{name}");
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(meant("Vegas", &names).unwrap(), (Some("vegas"), "did you mean `vegas`?".to_owned()));
    }

    #[test]
    fn every_meaning_is_a_word_of_the_format() {
        let format = schema::schema().to_string();
        for (typed, This(there) | Advice(there, _)) in SYNONYMS {
            assert!(format.contains(&format!("\"{there}\"")), "{typed}: {there}");
        }
    }
}
