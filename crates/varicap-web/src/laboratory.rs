//! The laboratory's state: files, a scenario, its results so far, a run on its way.

use std::collections::BTreeMap;
use std::io::{BufRead, Cursor};
use std::sync::Arc;

use serde_json::{Value as Json, json};
use varicap_experiment::results::{Recorded, RunResult, summarise};
use varicap_experiment::{
    Estimate, Format, Limits, Network, Plan, Scenario, Transport, Written, explain, facts, schema,
};
use varicap_sim::{Course, Options};
use varicap_tcp::Congestion;
use varicap_units::{Bytes, Span};

use crate::answer::{Answer, Refusal};
use crate::arrays::Arrays;
use crate::hand::{self, Hand};
use crate::records;
use crate::request::Request;
use crate::stepped::{Stepped, recording};

/// The limits of a run: the memory of a tab of a browser is limited, and so is patience.
const LIMITS: Limits = Limits { memory: Some(Bytes::new(1_500_000_000)), time: Some(Span::from_secs(120)) };

/// A scenario that was read, and what became of it.
struct Subject {
    scenario: Scenario,
    networks: Vec<Network>,
    /// By the number of the replication.
    results: BTreeMap<u64, RunResult>,
    stepped: Option<Stepped>,
}

/// Answers requests.
#[derive(Default)]
pub struct Laboratory {
    files: BTreeMap<String, Arc<[u8]>>,
    subject: Option<Subject>,
}

impl Laboratory {
    /// The answer to a request, which is a JSON text.
    pub fn answer(&mut self, request: &[u8]) -> Answer {
        let request = serde_json::from_slice(request).map_err(|error| Refusal::Request(error.to_string()));
        request.and_then(|request| self.meet(request)).unwrap_or_else(Answer::from)
    }

    fn meet(&mut self, request: Request) -> Result<Answer, Refusal> {
        let plain = |json: Json| Answer::new(json, Vec::new());
        match request {
            Request::About {} => {
                Ok(plain(json!({ "version": env!("CARGO_PKG_VERSION"), "schema": schema() })))
            }
            Request::File { name, text, bytes } => {
                let content = if bytes.is_empty() { text.into_bytes() } else { bytes };
                self.files.insert(name, content.into());
                Ok(plain(Json::Null))
            }
            Request::Read { text, name, settings } => self.read(&text, &name, &settings).map(plain),
            Request::Explain {} => {
                let subject = self.subject()?;
                Ok(plain(json!(explain(&subject.scenario, &subject.networks))))
            }
            Request::Run { replication, series, packets, columns } => {
                self.subject()?.run(replication, series, packets, &columns)
            }
            Request::Summary {} => self.subject()?.summary().map(plain),
            Request::Begin { replication } => self.subject()?.begin(replication).map(plain),
            Request::Step { until_s, hand } => self.subject()?.step(until_s, hand),
        }
    }

    fn subject(&mut self) -> Result<&mut Subject, Refusal> {
        self.subject.as_mut().ok_or_else(|| Refusal::Request("no scenario was read".to_owned()))
    }

    fn read(&mut self, text: &str, name: &str, settings: &[(String, String)]) -> Result<Json, Refusal> {
        self.subject = None;
        let files = &self.files;
        let mut open = |name: &str| match files.get(name) {
            Some(file) => Ok(Box::new(Cursor::new(file.clone())) as Box<dyn BufRead>),
            None => Err("no file of this name was handed in".to_owned()),
        };
        let format = if name.ends_with(".json") { Format::Json } else { Format::Toml };
        let written = Written { text, format, file: name, settings, option: "--set" };
        let read = written.read().and_then(|scenario| {
            let networks = scenario.networks(&mut open)?;
            Ok((scenario, networks))
        });
        let (scenario, networks) =
            read.map_err(|first| Refusal::Mistakes(written.mistakes(first, &mut open)))?;
        let estimate = Estimate::of(&scenario, &networks);
        let answer = json!({
            "name": scenario.name,
            "description": scenario.description,
            "seeds": scenario.seeds,
            "seed": scenario.seed,
            "scenario": scenario.to_json(),
            "toml": scenario.to_toml(),
            "facts": facts(&scenario, &networks),
            "estimate": estimate,
            "supplied": supplied(&networks),
        });
        self.subject = Some(Subject { scenario, networks, results: BTreeMap::new(), stepped: None });
        Ok(answer)
    }
}

/// The parts that a program would bring along, by name: there are none here, but for a hand.
fn supplied(networks: &[Network]) -> Vec<String> {
    let links = networks.iter().flat_map(|network| &network.links);
    let queues = links.clone().flat_map(|link| link.parts.queue.supplied().into_iter().map(str::to_owned));
    let policies = links.filter_map(|link| link.parts.policy().map(str::to_owned));
    let flows = networks.iter().flat_map(|network| &network.flows);
    let controls = flows.filter_map(|flow| match &flow.transport {
        Transport::Tcp { tcp, .. } => control_of(&tcp.congestion),
        _ => None,
    });
    queues.chain(policies).chain(controls).collect()
}

/// The control that a program would bring along, or decide for, by name.
fn control_of(congestion: &Congestion) -> Option<String> {
    match congestion {
        Congestion::Custom(name) => (name != hand::NAME).then(|| name.clone()),
        Congestion::Module(file) => Some(file.clone()),
        Congestion::Policy(policy) => Some(policy.source().unwrap_or("policy").to_owned()),
        _ => None,
    }
}

impl Subject {
    /// Refuses what is too much, or what needs a part that is not here.
    fn check(&self, series: bool, packets: bool) -> Result<(), Refusal> {
        if let Some(name) = supplied(&self.networks).first() {
            return Err(Refusal::Request(format!(
                "`{name}` is a part that a program brings along; there is none here"
            )));
        }
        let plan = Plan { series: u32::from(series), packets: u32::from(packets), ..Plan::new(1, 1) };
        let estimate = Estimate::of(&self.scenario, &self.networks);
        estimate.check_limits(&plan, &LIMITS).map_err(|error| Refusal::Mistakes(error.into()))
    }

    fn run(
        &mut self,
        replication: u64,
        series: bool,
        packets: bool,
        columns: &[String],
    ) -> Result<Answer, Refusal> {
        self.check(series, packets)?;
        let options = Options {
            record: Some(recording(&self.scenario, series, packets)),
            controls: Some(Hand::default().factory()),
            ..Options::default()
        };
        let (mut runs, mut all) = (Vec::new(), Vec::new());
        for (number, network) in self.networks.iter().enumerate() {
            let mut course = Course::begin(network, self.scenario.seed, replication, &options);
            course.run_until(varicap_units::Time::ZERO + network.duration, &mut |_| true);
            let (run, recorded) = course.finish(network);
            runs.push(run);
            all.push(Recorded { network: number, ..recorded });
        }
        self.results.insert(replication, RunResult::join(&self.networks, &runs));
        let mut arrays = Arrays::default();
        let series: Vec<Json> = (all.iter().filter(|_| series))
            .map(|one| records::series(&mut arrays, one.network, one.flows.iter(), &one.links))
            .collect();
        let packets = records::packets(&mut arrays, all, columns);
        Ok(Answer::new(json!({ "series": series, "packets": packets }), arrays.bytes))
    }

    fn summary(&mut self) -> Result<Json, Refusal> {
        let runs: Vec<RunResult> = self.results.values().cloned().collect();
        if runs.is_empty() {
            return Err(Refusal::Request("no run has a result yet".to_owned()));
        }
        Ok(summarise(&runs, self.scenario.to_json(), &self.networks))
    }

    fn begin(&mut self, replication: u64) -> Result<Json, Refusal> {
        self.check(true, false)?;
        let [network] = &self.networks[..] else {
            return Err(Refusal::Request("isolated flows do not go on step by step".to_owned()));
        };
        self.stepped = Some(Stepped::begin(&self.scenario, network, replication));
        Ok(json!({ "duration_s": network.duration.as_secs_f64() }))
    }

    fn step(&mut self, until_s: f64, hand: Option<f64>) -> Result<Answer, Refusal> {
        let nothing = || Refusal::Request("no run is on its way".to_owned());
        let stepped = self.stepped.as_mut().ok_or_else(nothing)?;
        stepped.step(until_s, hand);
        let mut arrays = Arrays::default();
        let course = stepped.course();
        let series = records::series(&mut arrays, 0, course.flows(), course.links());
        let (now, is_over) = (course.now().since(varicap_units::Time::ZERO), stepped.is_over());
        if is_over && let Some(stepped) = self.stepped.take() {
            let (run, recorded) = stepped.finish(&self.networks[0]);
            self.results.insert(recorded.replication, run);
        }
        let answer = json!({ "now_s": now.as_secs_f64(), "over": is_over, "series": [series] });
        Ok(Answer::new(answer, arrays.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn supplied_by(congestion: &str) -> Vec<String> {
        let text = format!(
            "duration = \"10 s\"\n[topology.dumbbell.forward]\ncapacity = \"1 Mbit/s\"\ndelay = \"50 ms\"\n[flows.a.tcp]\ncongestion = {congestion}\n"
        );
        let scenario = Scenario::from_toml(&text, "x.toml", &[]).unwrap();
        supplied(&scenario.networks(&mut |_| Err("no files".to_owned())).unwrap())
    }

    #[test]
    fn what_a_program_would_bring_along_is_named_but_for_the_hand() {
        assert_eq!(supplied_by("{ custom = \"mine\" }"), ["mine"]);
        assert_eq!(supplied_by("{ policy = { custom = \"learned\" } }"), ["learned"]);
        assert_eq!(supplied_by("{ custom = \"hand\" }"), Vec::<String>::new());
        assert_eq!(supplied_by("\"cubic\""), Vec::<String>::new());
    }
}
