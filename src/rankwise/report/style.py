"""The style sheet: one column on a phone, two on a desk; light, dark, and for print."""

CSS = """
:root {
  color-scheme: light dark;
  --paper: #fbfaf7; --card: #ffffff; --ink: #1d232b; --muted: #626b76; --line: #e3e0d8;
  --a: #1f6f8b; --b: #c8553d; --c: #7a8b2f; --d: #8a5a9e; --e: #b5832a; --band: 0.16;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181d; --card: #1b2027; --ink: #e8e6e1; --muted: #9aa4af; --line: #2d343d;
    --a: #63b4d1; --b: #ee8a72; --c: #b3c766; --d: #c39ad6; --e: #e0b25c; --band: 0.22;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main { max-width: 1060px; margin: 0 auto; padding: 2.2rem 1.2rem 4rem; }
header { border-bottom: 1px solid var(--line); padding-bottom: 1.2rem; margin-bottom: 1.6rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .35rem; letter-spacing: -.015em; }
h2 { font-size: 1.18rem; margin: 0 0 .3rem; letter-spacing: -.005em; }
p { margin: .3rem 0 .9rem; }
.muted, figcaption, .sub { color: var(--muted); }
.sub { margin: 0; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: .8rem; margin: 0 0 1.2rem; }
.tile, section {
  background: var(--card); border: 1px solid var(--line); border-radius: 12px;
}
.tile { padding: .9rem 1rem; }
.tile b { display: block; font-size: 1.75rem; line-height: 1.2; font-weight: 650;
  font-variant-numeric: tabular-nums; }
.tile span { display: block; color: var(--muted); font-size: .86rem; }
.cards { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .8rem; }
section { padding: 1.1rem 1.2rem; min-width: 0; }
section.wide, section.last { grid-column: 1 / -1; }
section.last svg.chart { margin: 0 auto; }
figure { margin: .6rem 0 0; }
figcaption { font-size: .88rem; margin-top: .3rem; }
svg.chart { display: block; width: 100%; height: auto; max-width: 620px; overflow: visible; }
svg text { font: 12.5px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }
svg .tick, svg .note { fill: var(--muted); }
svg .note { font-size: 12px; }
svg .label, svg .name { fill: var(--ink); }
svg .grid { stroke: var(--line); stroke-width: 1; }
svg .axis { stroke: var(--muted); stroke-width: 1; }
svg .rule { stroke: var(--muted); stroke-width: 1; stroke-dasharray: 3 4; }
svg .line { fill: none; stroke-width: 2.2; stroke-linejoin: round; stroke-linecap: round; }
svg .band { opacity: var(--band); }
svg .dot { stroke: var(--card); stroke-width: 2; }
svg .line.a { stroke: var(--a); } svg .band.a, svg .bar.a, svg .dot.a { fill: var(--a); }
svg .line.b { stroke: var(--b); } svg .band.b, svg .bar.b, svg .dot.b { fill: var(--b); }
svg .line.c { stroke: var(--c); } svg .band.c, svg .bar.c, svg .dot.c { fill: var(--c); }
svg .line.d { stroke: var(--d); } svg .band.d, svg .bar.d, svg .dot.d { fill: var(--d); }
svg .line.e { stroke: var(--e); } svg .band.e, svg .bar.e, svg .dot.e { fill: var(--e); }
svg .line.m { stroke: var(--muted); } svg .bar.m, svg .dot.m { fill: var(--muted); }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1rem; font-size: .88rem; margin: .3rem 0 0;
  padding: 0; list-style: none; }
.legend li::before { content: ""; display: inline-block; width: .8em; height: .8em;
  border-radius: 3px; margin-right: .4em; vertical-align: -.05em; background: var(--swatch); }
.scroll { overflow-x: auto; }
.scroll th, .scroll td { white-space: nowrap; }
table { border-collapse: collapse; width: 100%; font-size: .93rem;
  font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .34rem .7rem .34rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { font-weight: 600; }
thead th { color: var(--muted); font-weight: 500; font-size: .86rem; white-space: nowrap; }
td.n, th.n { text-align: right; padding-right: 1rem; white-space: nowrap; }
tr:last-child td, tbody tr:last-child th { border-bottom: 0; }
table.facts th { width: 9.5rem; color: var(--muted); font-weight: 500; }
table.facts td { overflow-wrap: anywhere; }
pre, code { font: .86rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre { background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: .8rem;
  white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; }
details summary { cursor: pointer; color: var(--muted); }
.warning { border-left: 3px solid var(--b); padding-left: .8rem; }
footer { color: var(--muted); font-size: .86rem; margin-top: 1.4rem; }
@media (max-width: 760px) {
  main { padding: 1.3rem .8rem 3rem; }
  h1 { font-size: 1.5rem; }
  .cards { grid-template-columns: minmax(0, 1fr); }
  .tiles { grid-template-columns: repeat(2, 1fr); }
  .tile b { font-size: 1.4rem; }
  section { padding: .95rem .95rem; }
  table.facts th { width: 6.8rem; }
}
@media print {
  :root { color-scheme: light;
    --paper: #fff; --card: #fff; --ink: #000; --muted: #444; --line: #ccc;
    --a: #1f6f8b; --b: #c8553d; --c: #7a8b2f; --d: #8a5a9e; --e: #b5832a; --band: 0.16; }
  @page { margin: 15mm; }
  body { font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  section, .tile, figure { break-inside: avoid; }
  .tiles { grid-template-columns: repeat(4, 1fr); }
  .cards { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  details:not([open]) { display: none; }
  pre { font-size: 8.5pt; }
}
"""
