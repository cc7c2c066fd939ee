//! One run in real time: a network and a seed in, measured rows and the fidelity of the run out.
