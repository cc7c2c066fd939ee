/** Lessons: one idea each, something to do, something to notice and a question, for a class of an hour. */

import type { Knob } from "./controls";
import * as texts from "./texts";
import { DRAWN, initial, type State } from "./state";

export interface Lesson {
  number: number;
  title: string;
  idea: string;
  act: string[];
  notice: string[];
  question: string;
  answer: string;
  /** How the laboratory differs from what it begins with. */
  state: Partial<State>;
  knobs?: Knob[];
}

/** The state of the laboratory at the beginning of a lesson. */
export function stateOf(lesson: Lesson): State {
  return { ...initial(), ...structuredClone(lesson.state) };
}

const reno = { control: "reno", start: 0, stop: null };
const cubic = { control: "cubic", start: 0, stop: null };
const bbr = { control: "bbr3", start: 0, stop: null };
const text = (text: string, file: string): Partial<State> => ({ mode: "text", text, file });
const drawn = (rate: (share: number) => number): State["capacity"] => ({ kind: "drawn", rates: Array.from({ length: DRAWN }, (_, i) => rate((i + 0.5) / DRAWN)) });

/** Transitions of a chain that stays where it is with this probability. */
const stay = (p: number) => `[[${p}, ${(1 - p).toFixed(2)}], [${(1 - p).toFixed(2)}, ${p}]]`;

const ALL: Omit<Lesson, "number">[] = [
  {
    title: "A window and its sawtooth",
    idea: "A sender may have a window of packets on their way. Reno adds one packet to it each round trip, and halves it when a packet is lost. What comes out is a sawtooth.",
    act: ["Look at the congestion window: count the teeth.", "Halve the round trip. Then double the rate.", "Play the path in slow motion around a loss, and step from packet to packet."],
    notice: ["The teeth come faster when the round trip is shorter.", "The queue fills before each loss: that is how Reno learns where the limit is.", "The dashed line is what the geometry of the sawtooth says."],
    question: "A buffer holds one bandwidth-delay product. Why is the link never idle, although the window halves?",
    answer: "Just before the loss the window is twice the bandwidth-delay product: one on the wire, one in the buffer. Half of that still fills the wire, and the queue has just run empty.",
    state: { capacity: { kind: "constant", rate: 5 }, rtt: 80, buffer: 34, duration: 60, flows: [reno] },
  },
  {
    title: "Buffers and bufferbloat",
    idea: "A buffer that absorbs bursts is good. A buffer that is always full only makes everybody wait. Senders that wait for losses fill any buffer they find.",
    act: ["Raise the buffer from 10 to 400 packets while you look at the queueing delay.", "Change the control to Vegas, then to BBRv3.", "Leave CUBIC, and change the queue to CoDel."],
    notice: ["Beyond a point the throughput gains nothing, and the delay grows in proportion.", "Vegas and BBR keep the queue short by themselves; CoDel does it for all senders."],
    question: "Which buffer would you choose for one Reno flow, and which for a hundred?",
    answer: "One flow needs about a bandwidth-delay product. The sawteeth of a hundred flows are out of step and cancel each other, so a tenth of that is enough: the product over the square root of the number of flows.",
    state: { capacity: { kind: "constant", rate: 8 }, rtt: 40, buffer: 200, flows: [cubic] },
  },
  {
    title: "Losses that are not congestion",
    idea: "A wireless link loses packets because the signal fades, not because anybody sent too much. A sender that takes every loss for congestion slows down for nothing. A link that sends again what was lost (ARQ) hides the losses, and pays with delay.",
    act: ["Lower the share that is delivered on the whole.", "Change `arq = {}` in the text to a comment (# in front), and compare.", "Give the channel another speed of fading (Doppler)."],
    notice: ["With ARQ hardly a loss reaches TCP, but the capacity left over is smaller, and round trips jump.", "Without it the window never grows."],
    question: "Should a link send a packet again forever?",
    answer: "No: meanwhile all others wait behind it, and the sender's timer may expire, so that the packet is sent twice anyway. Links give up after a while; what TCP then sees is a loss, which it repairs end to end.",
    state: text(texts.WIRELESS, "wireless.toml"),
    knobs: [
      { label: "Delivered on the whole", paths: ["topology.dumbbell.forward.loss.rayleigh.delivered"], unit: "", range: [0.5, 0.999, 0.001], value: 0.95 },
      { label: "Doppler frequency", paths: ["topology.dumbbell.forward.loss.rayleigh.doppler"], unit: "Hz", range: [1, 100, 1], value: 10 },
    ],
  },
  {
    title: "A link that varies",
    idea: "The capacity of a mobile link changes within a round trip. A sender learns of it late: what it has sent at the old rate waits in the queue when the new one is lower, and what it could have sent is lost for good when it is higher.",
    act: ["Draw a deep dip of two seconds, then a short one.", "Change the capacity to the LTE-like trace.", "Exchange Reno, CUBIC and BBR, and compare with what was before."],
    notice: ["A dip makes a peak of delay that outlasts it.", "CUBIC is soon back at the rate that it knew; Reno takes its time; BBR probes for more now and then."],
    question: "Can any sender avoid the peak of delay after a sudden dip?",
    answer: "No: for one round trip it sends at the old rate, whatever it does. It can only keep little in the queue beforehand, or be told earlier.",
    state: { capacity: drawn((share) => (share < 0.3 ? 10 : share < 0.5 ? 2 : share < 0.75 ? 12 : 6)), rtt: 60, buffer: 120, duration: 40, flows: [cubic, bbr] },
  },
  {
    title: "Telling the rate",
    idea: "If the link knows its rate, it may tell the sender. INSTCAP tells what the capacity was lately, EFFCAP the least of several averages, and RATCP takes a rate and makes a window of it. What matters is psi: how long the capacity stays as it is, in round trips.",
    act: ["Raise the probability to stay to 0.99 (psi is large), then lower it to 0.5.", "Look at which flow loses packets, and which leaves capacity unused."],
    notice: ["With slow changes every rate that is told is right, and all do well.", "With fast ones the rate is out of date when it arrives: EFFCAP errs on the safe side, INSTCAP does not."],
    question: "Why can it be better to tell less than the mean rate?",
    answer: "Because errors are not symmetric: too high a rate overflows the buffer and costs a recovery, too low a one costs only what was not sent.",
    state: text(texts.RATES, "rates.toml"),
    knobs: [
      { label: "Probability to stay", paths: ["topology.dumbbell.forward.capacity.slotted-markov.transitions"], unit: "", range: [0.5, 0.99, 0.01], value: 0.85, write: stay },
    ],
  },
  {
    title: "Reserved rates and markings",
    idea: "A network may promise a flow a minimum rate, and mark the packets that conform to it, so that a queue drops others first. The promise is kept by the network. TCP must still make use of it.",
    act: ["Look at the table: compare the flow that only marks, the one with a timer, and the adaptive window.", "Lower the reserved rate of each from 3 Mb/s to 0.5 Mb/s, and look at what the flow without a reservation gets.", "Run ten seeds at either end."],
    notice: ["At 3 Mb/s, when little of the link is left over, the flow that only marks falls short of its reservation: each loss halves a window that had no need to fall. With a timer, or a timer and an adaptive window, flows get their rate and more.", "Up to 2.5 Mb/s every flow gets its reservation, and they differ in their share of the rest: the adaptive window tends to have most.", "The flow without a reservation pays: it gets what the others leave."],
    question: "Why is halving the window wrong for the reserved part?",
    answer: "The reserved rate is still there after a loss. Only what the flow took beyond it was too much, so only that part should shrink.",
    state: text(texts.RESERVED, "reserved.toml"),
    knobs: [{ label: "Reserved rate of each", paths: ["marking", "timed", "adaptive"].map((flow) => `flows.${flow}.reservation.rate`), unit: "Mb/s", range: [0.5, 3, 0.1], value: 3 }],
  },
  {
    title: "Queues: CoDel, fair queueing, L4S",
    idea: "A queue can do more than wait until it is full: drop early when packets have waited too long (CoDel), give each flow its own queue (FQ), or keep two queues, one of them for senders that answer to each mark (L4S).",
    act: ["Compare drop-tail, CoDel, FQ-CoDel and DualPI2 at the same link.", "Remove CUBIC, and look at Prague alone in DualPI2.", "Let both be Reno with FQ-CoDel, one of them 10 s later."],
    notice: ["CoDel holds the delay below 10 ms. But it marks, and Prague, which a single mark hardly slows, leaves CUBIC a tenth of the link.", "FQ-CoDel shares the link evenly, whoever is more aggressive.", "In DualPI2 Prague's packets hardly wait, though CUBIC's do."],
    question: "Why does DualPI2 mark the packets of its low-delay queue far more often than it drops others?",
    answer: "Prague's rate falls in proportion to the share of marks, CUBIC's to the square root of its losses. For equal rates one probability must be about the square root of the other.",
    state: { capacity: { kind: "constant", rate: 20 }, rtt: 20, buffer: 200, queue: "dualpi2", flows: [{ control: "prague", start: 0, stop: null }, cubic] },
  },
  {
    title: "Links that react to the load",
    idea: "A radio network may give a user more capacity when its queue grows, and take it away when the queue is empty. Then two control loops face each other: TCP fills the queue until it is dropped, the link adds capacity until the queue is short.",
    act: ["Make the link sample its queue less often.", "Make it add more at a time.", "Look for oscillations of capacity and window."],
    notice: ["The capacity that TCP gets depends on what TCP asks for.", "A slow link and an eager TCP chase each other."],
    question: "Which of the two loops should be the faster one?",
    answer: "They should differ: if the link is much faster, TCP sees a link that simply has capacity; if it is much slower, TCP sees one that is constant for a while. Trouble lies between, where both take about a round trip.",
    state: text(texts.REACTIVE, "reactive.toml"),
    knobs: [
      { label: "Time between samples", paths: ["topology.dumbbell.forward.capacity.load-reactive.interval"], unit: "ms", range: [10, 2000, 10], value: 100 },
      { label: "Added at a time", paths: ["topology.dumbbell.forward.capacity.load-reactive.control.hysteresis.increment"], unit: "kb/s", range: [10, 1000, 10], value: 100 },
    ],
  },
  {
    title: "Statistics: why ten seeds",
    idea: "A random link gives another result each time. One run tells what may happen; several runs tell what to expect, and how sure one may be.",
    act: ["Change the seed and watch the mean throughput.", "Press “Run ten seeds” in the table.", "Raise the holding times, and do it again."],
    notice: ["Single runs differ by more than many a claim in a paper.", "The interval is narrow when the runs are long compared with what varies in them."],
    question: "Two controls differ by 3 % in one run each. What do you conclude?",
    answer: "Nothing yet. With ten seeds each, compare the intervals; better, compare the two on the same channel seed by seed, as varicap does for isolated flows: the differences vary far less than the values.",
    state: { capacity: { kind: "markov", rates: [8, 2], holding: [2, 2] }, rtt: 50, buffer: 40, duration: 30, flows: [reno, cubic] },
  },
];

export const LESSONS: Lesson[] = ALL.map((lesson, i) => ({ number: i + 1, ...lesson }));
