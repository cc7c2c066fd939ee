/** What closed forms say of a scenario, where one fits: each with its source, computed here. */

import type { State } from "./state";

export interface Said {
  /** Its name, with its source. */
  model: string;
  /** Throughput of the flow [b/s]. */
  bps: number;
  text: string;
}

const PACKET = 1500;
/** The simulated window counts packets, not acknowledgements: it grows by one a round trip whatever an ACK covers. */
const PER_ACK = 1;
/** Duplicate acknowledgements that avert a timeout where each releases a packet. Source: RFC 3042. */
const NEEDED = 1;
/** Least timeout over the round trip [s], of Linux. */
const LEAST_TIMEOUT = 0.2;

/** Throughput [packets/s] of a flow of Reno's that loses a share `p` of its packets at random. Source: Mathis et al. 1997. */
export function mathis(p: number, rtt: number): number {
  return Math.sqrt(3 / (2 * PER_ACK * p)) / rtt;
}

/**
 * What is delivered of the same with timeouts [packets/s], `rto` being the first of a row of them [s]. Source: Padhye et
 * al. 1998, eqs. (13), (24), (29) and (32); python/varicap/analyse/models/pftk.py has the same.
 */
export function pftk(p: number, rtt: number, rto: number, needed = NEEDED): number {
  const kept = 1 - p;
  const common = (2 + PER_ACK) / (3 * PER_ACK);
  const window = common + Math.sqrt((8 * kept) / (3 * PER_ACK * p) + common ** 2);
  const early = kept ** needed;
  const later = 1 - kept ** Math.max(window - needed, 0);
  const timeouts = Math.min(1, ((1 - early) * (1 + early * later)) / (1 - kept ** window));
  const backoff = 1 + p + 2 * p ** 2 + 4 * p ** 3 + 8 * p ** 4 + 16 * p ** 5 + 32 * p ** 6;
  const sent = kept / p + window + timeouts / kept;
  return (sent * kept) / (rtt * ((PER_ACK / 2) * window + 1) + (timeouts * rto * backoff) / kept);
}

/** Throughput [packets/s] of CUBIC. Source: RFC 9438 §5.1, C = 0.4 and beta = 0.7. */
export function cubic(p: number, rtt: number): number {
  const [c, beta] = [0.4, 0.7];
  return ((c * (3 + beta)) / (4 * (1 - beta))) ** 0.25 * (rtt / p) ** 0.75 / rtt;
}

/**
 * Utilisation by one flow of Reno's behind a drop-tail buffer of `share` bandwidth-delay products: a window that rises
 * by a packet a round trip and halves when the buffer is full.
 */
export function sawtooth(share: number): number {
  return share >= 1 ? 1 : (0.75 * (1 + share) ** 2) / (1 + share + share * share);
}

/** What an analysis says of the first flow, or why none does. */
export function analyse(state: State): Said | string {
  if (state.mode !== "made") return "a text of one's own: `varicap run --engine model` knows more models than this page";
  const { capacity, loss, buffer, rtt } = state;
  if (state.flows.length !== 1) return "the closed forms here are about a single flow";
  if (capacity.kind !== "constant") return "the closed forms here are about a constant capacity";
  const [flow] = state.flows;
  const rate = capacity.rate * 1e6;
  const p = loss / 100;
  // Through an idle queue: what the link adds is the time of a packet.
  const seconds = rtt / 1e3 + (PACKET * 8) / rate;
  const bounded = (packets: number) => Math.min(rate, packets * PACKET * 8);
  if (loss > 0 && flow.control === "reno") {
    return { model: "PFTK (Padhye et al. 1998)", bps: bounded(pftk(p, seconds, seconds + LEAST_TIMEOUT)), text: `losses at random with p = ${loss} %; without timeouts, by the square root of Mathis et al. 1997, ${(bounded(mathis(p, seconds)) / 1e6).toFixed(2)} Mb/s` };
  }
  if (loss > 0 && flow.control === "cubic") {
    const packets = Math.max(cubic(p, seconds), mathis(p, seconds));
    return { model: "CUBIC's average window (RFC 9438 §5.1)", bps: bounded(packets), text: `losses with p = ${loss} %, which the formula takes to be regular` };
  }
  if (loss === 0 && flow.control === "reno" && state.queue === "drop-tail") {
    const share = (buffer * PACKET * 8) / (rate * seconds);
    return { model: "the sawtooth", bps: rate * sawtooth(share), text: `a buffer of ${share.toFixed(2)} bandwidth-delay products fills ${(sawtooth(share) * 100).toFixed(0)} % of the link, without the slow start; the full buffer holds a packet up for ${((buffer * PACKET * 8) / rate * 1e3).toFixed(0)} ms` };
  }
  return loss > 0 ? "no closed form here for this control" : "no closed form here for this control and queue";
}
