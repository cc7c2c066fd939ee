//! The habits of a stack, put where nobody wrote a value.
//!
//! They are merged on the tree of a file, like the `tcp` table that flows share: what a flow says comes before what the
//! scenario says, and both before the stack.

use std::sync::OnceLock;

use indexmap::IndexMap;
use serde::Deserialize;
use varicap_tcp::{Congestion, DEFAULT_STACK, Stack, TcpConfig};
use varicap_units::part::Part as _;

use crate::check::At;
use crate::error::ScenarioError;
use crate::scenario::decode::decode;
use crate::scenario::document::{Node, Origin, Table, Value};
use crate::scenario::json;
use crate::scenario::schema::{self, Kind};

/// The choice that no stack makes: it has parameters for several alternatives, and the user says which.
const NOT_ITS_CHOICE: &str = "congestion";

/// The habits of a stack: the keys of a table, and their values.
type Habits = IndexMap<String, Habit>;

/// The value of a key.
#[derive(Debug)]
enum Habit {
    /// The value itself.
    Value(Node),
    /// A table whose keys hold one by one; `whole` where there is none.
    Table { whole: Node, keys: Habits },
    /// A choice: the parameters of each alternative that has any, and the alternative where nobody chose.
    Choice { first: Option<Node>, parameters: IndexMap<String, Habits> },
}

/// The `tcp` table of a stack as JSON. Of a choice it may have the parameters of several alternatives; the first is the
/// stack's own.
pub fn habits(stack: Stack) -> serde_json::Value {
    // A test reads each of them.
    toml::from_str(stack.habits()).unwrap_or_default()
}

/// A whole `tcp` table as JSON.
pub fn tcp_json(tcp: &TcpConfig) -> serde_json::Value {
    json::of(tcp)
}

/// Reads a `tcp` table that stands for itself, with the habits of its stack.
pub fn read_tcp(json: &str) -> Result<TcpConfig, ScenarioError> {
    #[derive(Deserialize)]
    struct Alone {
        tcp: TcpConfig,
    }
    let table = Node::from_json(json)?;
    let mut root = Node::new(Value::Table(Table::from_iter([("tcp".to_owned(), table)])), Origin::Unknown);
    complete(&mut root);
    let Alone { tcp } = decode(&root).map_err(|fault| fault.into_mistake().error)?;
    At::new("tcp").part(tcp.check())?;
    Ok(tcp)
}

/// Completes the scenario's `tcp` table and those of its flows with the habits of their stacks.
pub(crate) fn complete(root: &mut Node) {
    let Value::Table(scenario) = &mut root.value else { return };
    let lacks =
        |flow: &Node| flow.table().is_some_and(|flow| !flow.contains_key("datagrams") && !has_complete(flow));
    // A table that is complete stays shared with the tree that this one is a copy of.
    if scenario.get("flows").and_then(Node::table).is_some_and(|flows| flows.values().any(lacks))
        && let Some(Value::Table(flows)) = scenario.get_mut("flows").map(|node| &mut node.value)
    {
        for flow in flows.values_mut().filter(|flow| lacks(flow)) {
            if let Value::Table(flow) = &mut flow.value {
                complete_in(flow);
            }
        }
    }
    if !has_complete(scenario) {
        complete_in(scenario);
    }
}

/// Whether a table has a `tcp` table in which [`complete_in`] would change nothing.
fn has_complete(around: &Table) -> bool {
    let Some(tcp) = around.get("tcp").and_then(Node::table) else { return false };
    let stack = tcp.get("stack").and_then(|named| match &named.value {
        Value::Text(name) => Stack::named(name),
        _ => None,
    });
    let is_named = |(key, habit): (&String, &Habit)| {
        matches!(habit, Habit::Choice { .. })
            && tcp.get(key).is_some_and(|node| matches!(node.value, Value::Text(_)))
    };
    stack.is_some_and(|stack| is_resolved(tcp) && !of(stack).iter().any(is_named))
}

/// Completes the `tcp` table of a table that has one, or may have.
fn complete_in(around: &mut Table) {
    let tcp = around.entry("tcp".to_owned()).or_insert_with(|| Node::new(Value::default(), Origin::Default));
    let Value::Table(tcp) = &mut tcp.value else { return };
    let named = tcp
        .entry("stack".to_owned())
        .or_insert_with(|| Node::new(Value::Text(DEFAULT_STACK.name().to_owned()), Origin::Default));
    // An unknown name is an error when the table is decoded.
    let Value::Text(name) = &named.value else { return };
    let Some(stack) = Stack::named(name) else { return };
    if is_resolved(tcp) {
        fill_names(tcp, of(stack));
    } else {
        fill(tcp, of(stack));
    }
}

/// Whether a table was written by [`Scenario::to_json`](crate::Scenario::to_json): it has every key that must have a value.
fn is_resolved(tcp: &Table) -> bool {
    static KEYS: OnceLock<Vec<String>> = OnceLock::new();
    let keys = KEYS.get_or_init(|| match tcp_json(&TcpConfig::default()) {
        serde_json::Value::Object(keys) => keys.into_iter().map(|(key, _)| key).collect(),
        _ => Vec::new(),
    });
    keys.iter().all(|key| tcp.contains_key(key))
}

/// The habits of a stack, read once.
fn of(stack: Stack) -> &'static Habits {
    static ALL: OnceLock<Vec<Habits>> = OnceLock::new();
    let read = |stack: &Stack| {
        let mut node = Node::from_toml(stack.habits()).unwrap_or_default();
        node.mark(Origin::Stack(*stack));
        table(node, &mut vec!["tcp".to_owned()])
    };
    &ALL.get_or_init(|| Stack::ALL.iter().map(read).collect())[stack as usize]
}

/// The habits that a table at `path` says.
fn table(node: Node, path: &mut Vec<String>) -> Habits {
    let Value::Table(keys) = node.value else { return Habits::new() };
    let mut habits = Habits::new();
    for (key, node) in keys {
        path.push(key.clone());
        habits.insert(key, habit(node, path));
        path.pop();
    }
    habits
}

fn habit(node: Node, path: &mut Vec<String>) -> Habit {
    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
    match (schema::kind(&keys), &node.value) {
        (Kind::Table(_), Value::Table(_)) => Habit::Table { keys: table(node.clone(), path), whole: node },
        (Kind::Choice(_), Value::Table(alternatives)) => {
            let first = if path.last().is_some_and(|key| key == NOT_ITS_CHOICE) {
                let usual = Congestion::default().name();
                alternatives.get_key_value(usual).map(|entry| (entry, Origin::Default))
            } else {
                alternatives.first().map(|entry| (entry, node.origin))
            };
            let first = first.map(|((name, parameters), origin)| chosen(name, parameters.clone(), origin));
            let parameters = alternatives.clone().into_iter().map(|(name, parameters)| {
                path.push(name.clone());
                let habits = table(parameters, path);
                path.pop();
                (name, habits)
            });
            Habit::Choice { first, parameters: parameters.collect() }
        }
        _ => Habit::Value(node),
    }
}

/// The choice of `name` with its parameters, as `origin` says it.
fn chosen(name: &str, parameters: Node, origin: Origin) -> Node {
    let parameters = Node { origin, key: origin, ..parameters };
    Node::new(Value::Table(Table::from_iter([(name.to_owned(), parameters)])), origin)
}

/// Puts the habits where a table has no values of its own.
fn fill(table: &mut Table, habits: &Habits) {
    for (key, habit) in habits {
        match (table.get_mut(key), habit) {
            (Some(Node { value: Value::Table(table), .. }), Habit::Table { keys, .. }) => fill(table, keys),
            (Some(node), Habit::Choice { parameters, .. }) => fill_choice(node, parameters),
            (Some(_), _) | (None, Habit::Choice { first: None, .. }) => {}
            (
                None,
                Habit::Value(node)
                | Habit::Table { whole: node, .. }
                | Habit::Choice { first: Some(node), .. },
            ) => {
                table.insert(key.clone(), node.clone());
            }
        }
    }
}

/// Puts habits into a table that was resolved. A key without a value has none on purpose, whatever the stack says by now;
/// but where somebody has since put the bare name of an alternative, its parameters are to come from somewhere.
fn fill_names(table: &mut Table, habits: &Habits) {
    for (key, habit) in habits {
        if let (Habit::Choice { parameters, .. }, Some(node)) = (habit, table.get_mut(key))
            && let Value::Text(_) = node.value
        {
            fill_choice(node, parameters);
        }
    }
}

/// Puts the parameters of the alternative that somebody chose where they are not written.
fn fill_choice(choice: &mut Node, parameters: &IndexMap<String, Habits>) {
    let name = match &choice.value {
        Value::Text(name) => name.clone(),
        Value::Table(table) if table.len() == 1 => table.keys().cloned().collect(),
        _ => return,
    };
    let Some(habits) = parameters.get(&name).filter(|habits| !habits.is_empty()) else { return };
    if let Value::Text(_) = choice.value {
        let bare = Node::new(Value::default(), choice.origin);
        choice.value = Value::Table(Table::from_iter([(name.clone(), bare)]));
    }
    if let Some(Node { value: Value::Table(table), .. }) = choice.get_mut(&name) {
        fill(table, habits);
    }
}
