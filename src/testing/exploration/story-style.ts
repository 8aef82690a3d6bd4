/** The style of a story as a page: light and dark as the system is, lanes that stay in sight, nothing from the network. */
export const STORY_STYLE = `
:root {
  color-scheme: light dark;
  --ground: #fafaf8; --raised: #fff; --line: #e3e3de; --text: #1d1f21; --soft: #63686e;
  --bad: #b3261e; --bad-ground: #fdecea; --mark: #9a5b00; --mark-ground: #fff3dc; --mark-line: #e5b566;
  --executing: #2563c9; --waiting: #b98518; --queued: #a9adb3;
  --code: ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #141517; --raised: #1d2023; --line: #32363b; --text: #e7e8e9; --soft: #a3a9b1;
    --bad: #f5a097; --bad-ground: #3a1d1b; --mark: #f0c36d; --mark-ground: #33280f; --mark-line: #7a5d1f;
    --executing: #7fb0f7; --waiting: #dcae4c; --queued: #6d737b;
  }
}
* { box-sizing: border-box; }
body { margin: 0; padding: 24px 28px 64px; background: var(--ground); color: var(--text); font: 13.5px/1.45 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; font-variant-numeric: tabular-nums; }
h1 { margin: 0 0 8px; font-size: 19px; line-height: 1.35; font-weight: 650; letter-spacing: -0.01em; white-space: pre-wrap; overflow-wrap: anywhere; max-width: 110ch; max-height: 40vh; overflow: auto; }
header p { margin: 0 0 4px; color: var(--soft); max-width: 110ch; }
code { font: 12px/1.5 var(--code); overflow-wrap: anywhere; }
.replay { margin: 10px 0 18px; }
.replay code { display: inline-block; padding: 6px 10px; border: 1px solid var(--line); border-radius: 6px; background: var(--raised); color: var(--text); user-select: all; }
label { margin: 0 18px 0 5px; cursor: pointer; }
input { accent-color: var(--executing); vertical-align: -2px; }
.legend { display: inline-block; margin: 0 0 14px; color: var(--soft); }
.legend i { display: inline-block; width: 0; height: 13px; margin: 0 6px 0 14px; border-left: 3px solid; vertical-align: -2px; }
.legend a { margin-left: 18px; color: var(--mark); }
main { width: max(100%, calc(114px + var(--shown) * var(--width) + var(--calls))); border: 1px solid var(--line); border-radius: 10px; background: var(--raised); }
main { --width: 168px; --shown: var(--lanes); --calls: 0px; }
#inside:checked ~ main { --shown: var(--all); }
#calls:checked ~ main { --calls: 300px; }
.row { display: grid; grid-template-columns: 112px repeat(var(--shown), minmax(0, 1fr)) var(--calls); }
.row > span, .row > b { grid-row: 1; padding: 3px 8px; min-width: 0; }
.row > .time { grid-column: 1; white-space: normal; }
.row > .storage, .row > .hidden { display: none; }
#inside:checked ~ main .hidden { display: block; }
#calls:checked ~ main .storage { display: block; grid-column: -2; }
.row.inside { display: none; }
#inside:checked ~ main .row.inside { display: grid; color: var(--soft); }
.lanes { position: sticky; top: 0; z-index: 3; border-radius: 10px 10px 0 0; background: var(--raised); border-bottom: 1px solid var(--line); }
.lanes b { padding: 9px 8px 9px 20px; font-weight: 650; overflow-wrap: anywhere; }
.lane-time, .lane-body, .lane-engine, .lanes .storage { color: var(--soft); }
.time { color: var(--soft); white-space: nowrap; text-align: right; }
.lane { position: relative; padding-left: 20px !important; }
.lane::before { content: ''; position: absolute; left: 8px; top: 0; bottom: 0; border-left: 3px solid transparent; }
.lane.ends::before { bottom: 50%; }
.lane.executing::before, .legend .executing { border-left-color: var(--executing); }
.lane.waiting::before, .legend .waiting { border-left: 3px dashed var(--waiting); }
.lane.queued::before, .legend .queued { border-left: 3px dotted var(--queued); }
.card { position: relative; z-index: 2; display: inline-block; max-width: 40ch; padding: 2px 8px; border: 1px solid var(--line); border-radius: 6px; background: var(--ground); overflow-wrap: anywhere; }
.card small { display: block; font-size: 12px; color: var(--soft); }
.departs { background: var(--mark-ground); scroll-margin-top: 60px; }
.departs .card { border-color: var(--mark-line); color: var(--mark); font-weight: 600; background: var(--raised); }
.departs small { font-weight: 400; color: inherit; }
.card.broken { border-color: var(--bad); color: var(--bad); background: var(--bad-ground); }
.card.broken small { color: inherit; font-weight: 600; }
.arrow { grid-row: 1; align-self: start; position: relative; top: 16px; z-index: 1; height: 0; margin: 0 calc(100% / var(--span) - 10px) 0 30px; border-top: 1.5px solid var(--queued); }
.arrow.left { margin: 0 calc(100% / var(--span) - 30px) 0 12px; }
.arrow::after { content: ''; position: absolute; top: -4.75px; border: 4px solid transparent; }
.arrow.right::after { right: -2px; border-left: 6px solid var(--queued); border-right: 0; }
.arrow.left::after { left: -2px; border-right: 6px solid var(--queued); border-left: 0; }
.departs .arrow { border-color: var(--mark-line); }
.gap .time { font-size: 12px; padding-top: 5px; padding-bottom: 5px; font-style: italic; }
summary { cursor: pointer; }
dl { margin: 4px 0 8px; }
dt { color: var(--soft); font-size: 12px; }
dd { margin: 0; font: 11.5px/1.45 var(--code); white-space: pre-wrap; overflow-wrap: anywhere; }
.end { padding: 10px 14px 12px 132px; border-top: 1px solid var(--line); background: var(--bad-ground); color: var(--bad); font-weight: 600; white-space: pre-wrap; overflow-wrap: anywhere; }
@media print { body { padding: 0; } input, label, .legend a { display: none; } .lanes { position: static; } }
`
