/** The style of the pages: system fonts, light and dark as the system is, one column on a narrow screen. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #fbfbfa; --raised: #ffffff; --line: #e2e2de; --faint: #f1f1ee;
  --text: #1d1f21; --soft: #5b6066; --link: #1f4f9c; --focus: #2f6fd6;
  --good: #1f6b3a; --bad: #a8261d; --busy: #1f4f9c; --wait: #7a5200; --quiet: #5b6066;
  --code: ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #141517; --raised: #1b1d20; --line: #303439; --faint: #22252a;
    --text: #e6e7e8; --soft: #a3a9b1; --link: #8db6f5; --focus: #8db6f5;
    --good: #7fce98; --bad: #f29a91; --busy: #8db6f5; --wait: #e2b55f; --quiet: #a3a9b1;
  }
}
* { box-sizing: border-box; }
html { font: 14px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--text); font-variant-numeric: tabular-nums; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
main :is(p, dd, td, li) a:not(.tag) { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; border-radius: 3px; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 8px; top: 8px; background: var(--raised); padding: 8px; z-index: 2; }
header.top { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 20px; padding: 10px 24px; border-bottom: 1px solid var(--line); background: var(--raised); }
header.top .brand { font-weight: 650; color: var(--text); letter-spacing: -0.01em; }
header.top nav { display: flex; flex-wrap: wrap; gap: 4px; }
header.top nav a { padding: 4px 10px; border-radius: 6px; color: var(--soft); }
header.top nav a:hover { background: var(--faint); text-decoration: none; }
header.top nav a[aria-current] { color: var(--text); background: var(--faint); font-weight: 600; }
header.top .end { margin-left: auto; display: flex; gap: 12px; align-items: center; color: var(--soft); font-size: 13px; }
header.top form { margin: 0; }
main { max-width: 1200px; margin: 0 auto; padding: 20px 24px 64px; }
h1 { font-size: 20px; line-height: 1.3; font-weight: 650; letter-spacing: -0.015em; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 12px; font-weight: 650; text-transform: uppercase; letter-spacing: 0.05em; color: var(--soft); margin: 28px 0 8px; }
main > h1 + div { margin-top: 14px; }
p { margin: 0 0 8px; }
code, pre, .id, textarea, kbd { font-family: var(--code); font-size: 12.5px; }
.id { overflow-wrap: anywhere; }
.soft, .note, .none { color: var(--soft); }
.note { font-size: 13px; margin-top: 6px; }
.title { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 12px; margin-bottom: 4px; }
.sentence { font-size: 15px; margin: 8px 0 16px; max-width: 80ch; overflow-wrap: anywhere; }
.status { display: inline-flex; align-items: center; gap: 6px; font-size: 12px; font-weight: 600; letter-spacing: 0.02em; white-space: nowrap; color: var(--quiet); }
.status::before { content: ''; width: 8px; height: 8px; border-radius: 50%; border: 2px solid currentColor; flex: none; }
.status.completed { color: var(--good); } .status.completed::before { background: currentColor; }
.status.failed, .status.crashed, .status.timed-out { color: var(--bad); }
.status.failed::before, .status.crashed::before, .status.timed-out::before { background: currentColor; border-radius: 1px; }
.status.executing { color: var(--busy); } .status.executing::before { background: currentColor; }
.status.waiting, .status.delayed { color: var(--wait); }
.status.waiting::before { background: linear-gradient(90deg, currentColor 50%, transparent 50%); }
.status.pending-version { color: var(--bad); }
.tags { display: inline-flex; flex-wrap: wrap; gap: 4px; }
.tag { background: var(--faint); border: 1px solid var(--line); color: var(--text); padding: 0 7px; border-radius: 10px; font-size: 12px; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: separate; background: var(--raised); border: 1px solid var(--line); border-radius: 8px; border-spacing: 0; }
th { text-align: left; font-size: 12px; font-weight: 600; color: var(--soft); padding: 8px 12px; border-bottom: 1px solid var(--line); white-space: nowrap; }
td { padding: 5px 12px; border-bottom: 1px solid var(--line); vertical-align: baseline; }
tr:last-child td { border-bottom: 0; }
tbody tr:hover { background: var(--faint); }
tbody tr.selected { background: var(--faint); box-shadow: inset 3px 0 0 var(--focus); }
td.num { white-space: nowrap; }
td a.name { font-weight: 600; overflow-wrap: anywhere; }
td .id { color: var(--soft); font-size: 11.5px; }
td .name + .id { margin-left: 10px; }
td a .id { color: var(--link); }
.facts .id { font-size: 12px; }
form.filters button, form.filters .button { height: 34px; line-height: 20px; padding: 6px 10px; }
form.filters .actions { flex-wrap: nowrap; }
form.filters { display: grid; grid-template-columns: repeat(auto-fit, minmax(132px, 1fr)); gap: 10px; align-items: end; margin: 14px 0; }
label { display: block; font-size: 12px; color: var(--soft); }
input, select, textarea, button { font: inherit; color: inherit; }
input, select { height: 34px; }
input, select, textarea { width: 100%; margin-top: 2px; color: var(--text); padding: 6px 8px; border: 1px solid #8a8f96; border-radius: 6px; background: var(--raised); }
textarea { min-height: 112px; resize: vertical; }
button, .button { display: inline-block; padding: 6px 14px; border: 1px solid #8a8f96; border-radius: 6px; background: var(--raised); color: var(--text); cursor: pointer; font-weight: 550; }
button:hover, .button:hover { background: var(--faint); text-decoration: none; }
button.main { background: #1f4f9c; border-color: #1f4f9c; color: #ffffff; }
button.main:hover { background: #183f7d; }
button.plain { border: 0; background: none; padding: 0; color: var(--soft); font-weight: 400; text-decoration: underline; }
.actions { display: flex; flex-wrap: wrap; gap: 8px; margin: 4px 0 0; align-items: flex-start; }
.actions form { margin: 0; }
details > summary { cursor: pointer; color: var(--soft); }
details.sure > summary { list-style: none; display: inline-block; padding: 6px 14px; border: 1px solid #8a8f96; border-radius: 6px; color: var(--text); font-weight: 550; background: var(--raised); }
details.sure > summary::-webkit-details-marker { display: none; }
details.sure[open] { border: 1px solid var(--line); border-radius: 6px; padding: 8px; background: var(--raised); }
details.sure[open] > summary { margin-bottom: 8px; }
details.sure form + form { margin-top: 8px; }
details.sure.wide[open] { flex: 1 1 100%; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(220px, 1fr)); gap: 10px 24px; margin: 12px 0 0; }
.facts dt { font-size: 12px; color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
pre { margin: 0; padding: 10px 12px; background: var(--raised); border: 1px solid var(--line); border-radius: 8px; white-space: pre-wrap; overflow-wrap: anywhere; word-break: break-word; max-height: 420px; overflow: auto; unicode-bidi: plaintext; }
.columns { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 24px; }
.timeline td.drawn { width: 55%; vertical-align: middle; }
.timeline svg { display: block; width: 100%; height: 10px; background: var(--faint); border-radius: 3px; }
.timeline .queued { fill: var(--quiet); } .timeline .executing { fill: var(--busy); } .timeline .thrown { fill: var(--bad); } .timeline .waiting { fill: var(--wait); } .timeline .child { fill: var(--good); }
.counts { display: flex; flex-wrap: wrap; gap: 6px; margin: 0 0 12px; }
.counts a { display: inline-flex; gap: 8px; padding: 3px 10px; border: 1px solid var(--line); border-radius: 14px; background: var(--raised); color: var(--text); }
.counts a:hover, .counts a[aria-current] { background: var(--faint); text-decoration: none; }
.counts a[aria-current] { border-color: var(--soft); }
.pages { display: flex; gap: 16px; margin: 14px 0 0; }
.empty { border: 1px dashed #8a8f96; border-radius: 8px; padding: 28px 24px; color: var(--soft); max-width: 80ch; }
.empty h2 { margin: 0 0 6px; font-size: 15px; text-transform: none; letter-spacing: 0; color: var(--text); }
.told { border-left: 3px solid var(--wait); background: var(--raised); padding: 10px 14px; margin: 12px 0; border-radius: 0 8px 8px 0; overflow-wrap: anywhere; }
.told.good { border-color: var(--good); } .told.bad { border-color: var(--bad); }
.login { max-width: 380px; margin: 12vh auto 0; }
.login form { display: grid; gap: 12px; margin-top: 16px; }
dialog { border: 1px solid var(--line); border-radius: 10px; background: var(--raised); color: var(--text); padding: 20px 24px; }
dialog::backdrop { background: rgb(0 0 0 / 40%); }
kbd { border: 1px solid var(--line); border-bottom-width: 2px; border-radius: 4px; padding: 0 5px; background: var(--faint); }
.live { display: inline-flex; gap: 6px; align-items: center; }
.live[data-state='on']::before { content: ''; width: 7px; height: 7px; border-radius: 50%; background: var(--good); }
.unseen { position: absolute; width: 1px; height: 1px; padding: 0; border: 0; overflow: hidden; clip-path: inset(50%); }
.only-script { display: none; }
html.scripted .only-script { display: inline-flex; }
@media (max-width: 720px) {
  header.top { padding: 10px 14px; } main { padding: 14px 14px 48px; }
  header.top nav { gap: 2px; margin-left: -7px; } header.top nav a { padding: 4px 7px; }
  .columns { grid-template-columns: minmax(0, 1fr); }
  thead { position: absolute; left: -999px; }
  table, tbody { display: block; width: 100%; }
  tr { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 14px; padding: 8px 12px; border-bottom: 1px solid var(--line); }
  tr:last-child { border-bottom: 0; }
  td { display: block; padding: 0; border: 0; }
  td:empty { display: none; }
  td:first-child { flex: 1 1 100%; }
  td .name + .id { display: block; margin: 0; }
  .timeline td.drawn { flex: 1 1 100%; width: auto; }
  td[data-label]::before { content: attr(data-label) ' '; color: var(--soft); font-size: 12px; }
  header.top .end { margin-left: 0; }
  .facts { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  form.filters { grid-template-columns: repeat(2, minmax(0, 1fr)); }
}
@media (prefers-reduced-motion: no-preference) { tbody tr { transition: background 120ms; } }
`
