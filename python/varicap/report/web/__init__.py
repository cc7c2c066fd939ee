"""One HTML file that shows what runs or a study found: no network, nothing to install.

```text
Result, Study or their folders ──source──► Source ──series, distributions, sweeps, path──► charts ──page──► HTML
```

Time series are drawn in the browser by `assets/uPlot.min.js` (version 1.6.32 as npm has it, MIT licence beside it), so
that they zoom and share a cursor; all else is SVG, drawn here.  Whatever comes from a scenario goes through `markup`,
which escapes it.
"""
