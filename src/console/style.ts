import { FORM_STYLE } from '../answer-page/style.ts'

const BASE = `
:root {
  color-scheme: light dark;
  --ground: #f7f7f5; --raised: #ffffff; --sunken: #f2f2ef; --hover: #f6f6f4; --line: #e8e7e3; --edge: #d4d3cd; --field: #8a8983;
  --text: #1a1a19; --soft: #5b5a56; --accent: #3548c8; --accent-ink: #ffffff; --accent-wash: #eef0fc; --accent-down: #2a3aa6;
  --good: #17703f; --good-wash: #e8f4ec; --bad: #b9281c; --bad-wash: #fceeec; --busy: #1f57c8; --busy-wash: #eaf0fc;
  --wait: #865200; --wait-wash: #fbf2df; --quiet: #5b5a56; --quiet-wash: #f0f0ed;
  --pad: 24px; --shadow: 0 1px 2px rgb(0 0 0 / 5%); --float: 0 8px 28px rgb(0 0 0 / 18%), 0 0 0 1px rgb(0 0 0 / 6%);
  --code: ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #101012; --raised: #17171a; --sunken: #1f1f23; --hover: #1c1c20; --line: #27272c; --edge: #3a3a41; --field: #74747d;
    --text: #ececee; --soft: #a2a2aa; --accent: #98a8ff; --accent-ink: #11132a; --accent-wash: #1f2340; --accent-down: #b3bfff;
    --good: #62cb91; --good-wash: #14291e; --bad: #ff8d82; --bad-wash: #331a18; --busy: #88acff; --busy-wash: #182440;
    --wait: #e5b45a; --wait-wash: #2e2410; --quiet: #a2a2aa; --quiet-wash: #232327;
    --shadow: none; --float: 0 10px 32px rgb(0 0 0 / 60%), 0 0 0 1px #3a3a41;
  }
}
*, ::before, ::after { box-sizing: border-box; }
html { font: 400 13px/20px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif; -webkit-text-size-adjust: 100%; overflow-y: scroll; scroll-padding: 64px 0 16px; }
body { margin: 0; background: var(--ground); color: var(--text); font-variant-numeric: tabular-nums; }
h1, h2, p, dl, dd, ol, ul, fieldset { margin: 0; padding: 0; border: 0; min-width: 0; }
ol { list-style: none; }
a { color: var(--accent); text-decoration: none; text-underline-offset: 2px; }
a:hover { text-decoration: underline; }
main :is(p, dd, td) a:not(.tag, .button, .line a), .link { text-decoration: underline; text-decoration-color: color-mix(in srgb, currentColor 35%, transparent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; border-radius: 4px; }
.skip { position: absolute; left: -999px; z-index: 9; padding: 8px 12px; background: var(--raised); }
.skip:focus { left: 8px; top: 8px; }
.i { width: 14px; height: 14px; flex: none; vertical-align: -2px; fill: none; stroke: currentColor; stroke-width: 1.5; stroke-linecap: round; stroke-linejoin: round; }
symbol .full { fill: currentColor; stroke: none; } symbol .cut { stroke: var(--raised); stroke-width: 1.8; }
header.top { position: sticky; top: 0; z-index: 5; display: flex; align-items: center; gap: 16px; height: 48px; padding: 0 max(var(--pad), calc((100% - 1640px) / 2 + var(--pad))); background: var(--raised); border-bottom: 1px solid var(--line); }
header.top .brand { display: flex; align-items: center; gap: 8px; min-height: 24px; font-size: 14px; font-weight: 640; letter-spacing: -0.01em; color: var(--text); }
header.top .brand .i { width: 18px; height: 18px; color: var(--accent); stroke-width: 2; }
header.top nav { display: flex; gap: 2px; align-self: stretch; margin-left: 8px; }
header.top nav a { display: flex; align-items: center; padding: 0 10px; color: var(--soft); font-weight: 500; border: solid transparent; border-width: 2px 0; }
header.top nav a:hover { color: var(--text); text-decoration: none; }
header.top nav a[aria-current] { color: var(--text); border-bottom-color: var(--text); }
header.top .end { display: flex; align-items: center; gap: 16px; margin-left: auto; color: var(--soft); white-space: nowrap; }
main { max-width: 1640px; margin: 0 auto; padding: 24px var(--pad) 72px; }
h1 { font-size: 20px; line-height: 28px; font-weight: 640; letter-spacing: -0.012em; overflow-wrap: anywhere; }
h2 { font-size: 14px; line-height: 20px; font-weight: 620; letter-spacing: -0.004em; margin: 24px 0 8px; }
main > h1 + div { margin-top: 16px; }
.head { display: flex; flex-wrap: wrap; align-items: center; gap: 8px 16px; min-height: 32px; margin-bottom: 16px; }
.head p { color: var(--soft); }
p { margin: 0 0 8px; } .head p, .ask p, .done p, .panel p { margin: 0; }
b, strong { font-weight: 620; }
code, pre, .id, textarea, kbd { font-family: var(--code); font-size: 12px; }
.id { overflow-wrap: anywhere; }
.soft, .note, .none { color: var(--soft); }
.note { font-size: 12px; margin-top: 8px; }
.title { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 12px; margin-bottom: 4px; }
.sentence { font-size: 14px; margin: 8px 0 16px; max-width: 80ch; overflow-wrap: anywhere; }
.status { font-size: 12px; line-height: 20px; font-weight: 540; white-space: nowrap; color: var(--quiet); } .status .i { margin-right: 6px; }
.status.completed { color: var(--good); } .status.executing { color: var(--busy); } .status:is(.waiting, .delayed) { color: var(--wait); }
.status:is(.failed, .crashed, .timed-out, .expired, .pending-version) { color: var(--bad); }
.title .status { padding: 0 9px 0 7px; border-radius: 12px; line-height: 24px; background: var(--quiet-wash); }
.title .completed { background: var(--good-wash); } .title .executing { background: var(--busy-wash); } .title :is(.waiting, .delayed) { background: var(--wait-wash); }
.title :is(.failed, .crashed, .timed-out, .expired, .pending-version) { background: var(--bad-wash); }
.tags { display: inline-flex; flex-wrap: wrap; gap: 4px; }
.tag { padding: 0 7px; border-radius: 4px; background: var(--sunken); color: var(--soft); font-size: 12px; line-height: 24px; overflow-wrap: anywhere; }
.sheet, table { background: var(--raised); border: 1px solid var(--line); border-radius: 8px; box-shadow: var(--shadow); }
table { width: 100%; border-collapse: separate; border-spacing: 0; }
th { text-align: left; font-size: 12px; font-weight: 500; color: var(--soft); padding: 7px 16px; border-bottom: 1px solid var(--line); white-space: nowrap; }
td { padding: 6px 16px; border-bottom: 1px solid var(--line); vertical-align: baseline; }
tr:last-child td { border-bottom: 0; }
tbody tr:hover { background: var(--hover); }
:is(tr, .ask, .row)[data-at] { background: var(--accent-wash); } tr[data-at] td:first-child, :is(.ask, .row)[data-at] { box-shadow: inset 2px 0 var(--accent); }
[data-gone] { background: var(--sunken); } [data-gone] :is(a, b, dd, .left, time, .status):not(.ended *) { color: var(--soft); } [data-gone] .choose { visibility: hidden; }
td.num { white-space: nowrap; }
td.says { color: var(--soft); overflow-wrap: anywhere; } td.says.ink { color: var(--text); }
[data-pick] { width: 16px; height: 16px; margin: 0 10px 0 0; vertical-align: -3px; accent-color: var(--accent); }
.list { counter-reset: picked; } [data-pick]:checked { counter-increment: picked; }
.bulk { display: flex; flex-wrap: wrap; align-items: center; gap: 8px; position: sticky; bottom: 0; padding: 8px 0; background: var(--ground); } .bulk::before { content: counter(picked) ' selected'; font-weight: 540; } @supports selector(:has(*)) { .list:not(:has(:checked)) .bulk { display: none; } }
td a.name { font-weight: 540; overflow-wrap: anywhere; }
td .id { color: var(--soft); font-size: 11.5px; }
td .name + .id { display: block; } td [data-pick] ~ .id { padding-left: 26px; }
td a .id { color: var(--accent); }
.search { display: flex; flex-wrap: wrap; align-items: center; gap: 6px; min-height: 36px; margin: 16px 0; padding: 3px 4px 3px 10px; border: 1px solid var(--field); border-radius: 8px; background: var(--raised); }
.search:focus-within { outline: 2px solid var(--accent); outline-offset: -1px; } .search > .i { color: var(--soft); }
.search input { flex: 1 1 180px; width: auto; height: 28px; margin: 0; padding: 0 4px; border: 0; background: none; outline: 0; text-overflow: ellipsis; } .search button { min-height: 28px; border-color: transparent; color: var(--soft); }
.chip { display: inline-flex; align-items: center; gap: 6px; min-height: 24px; padding: 0 7px; border-radius: 5px; background: var(--accent-wash); color: var(--text); font-size: 12px; overflow-wrap: anywhere; } .chip b { font-weight: 500; color: var(--soft); } .chip .i { width: 10px; height: 10px; color: var(--soft); }
label { display: block; font-size: 12px; color: var(--soft); }
input, select, textarea, button { font: inherit; color: inherit; }
input, select, textarea { width: 100%; height: 32px; margin-top: 2px; padding: 0 10px; border: 1px solid var(--field); border-radius: 6px; background: var(--raised); color: var(--text); font-size: 13px; }
textarea { height: auto; min-height: 112px; padding: 7px 10px; resize: vertical; }
button, .button { display: inline-flex; align-items: center; justify-content: center; gap: 6px; min-height: 32px; padding: 0 12px; border: 1px solid var(--edge); border-radius: 6px; background: var(--raised); color: var(--text); font-weight: 540; cursor: pointer; }
button:hover, .button:hover { background: var(--hover); text-decoration: none; }
button.main { background: var(--accent); border-color: var(--accent); color: var(--accent-ink); }
button.main:hover { background: var(--accent-down); border-color: var(--accent-down); }
button.plain { min-height: 24px; border: 0; background: none; padding: 0; color: var(--soft); font-weight: 400; }
.actions { display: flex; flex-wrap: wrap; gap: 8px; margin: 4px 0 0; align-items: flex-start; }
.actions form { margin: 0; } .actions > form { display: flex; flex-wrap: wrap; gap: 8px; align-items: flex-end; } .actions:has(> form > label) { align-items: flex-end; }
details > summary { cursor: pointer; color: var(--soft); }
details.sure > summary, summary.button { list-style: none; display: inline-flex; align-items: center; min-height: 32px; padding: 0 12px; border: 1px solid var(--edge); border-radius: 6px; color: var(--text); font-weight: 540; background: var(--raised); }
summary::-webkit-details-marker { color: var(--soft); } details.sure > summary::-webkit-details-marker, summary.button::-webkit-details-marker { display: none; }
details.sure[open] { border: 1px solid var(--line); border-radius: 8px; padding: 8px; background: var(--raised); }
details.sure[open] > summary { margin-bottom: 8px; }
details.sure form + form { margin-top: 8px; }
details.sure.wide[open] { flex: 1 1 100%; }
td textarea { min-width: min(340px, 40vw); }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(220px, 1fr)); gap: 8px 24px; margin: 12px 0 0; }
.facts dt { font-size: 12px; color: var(--soft); }
.facts dd { overflow-wrap: anywhere; }
pre { margin: 0; padding: 8px 12px; background: var(--sunken); border-radius: 6px; line-height: 18px; white-space: pre-wrap; overflow-wrap: anywhere; word-break: break-word; max-height: 420px; overflow: auto; unicode-bidi: plaintext; }
pre + p { margin-top: 8px; }
pre[data-tail] { border-left: 2px solid var(--busy); border-radius: 0 6px 6px 0; max-height: 320px; }
.columns { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 24px; }
.tree { overflow: clip; }
.row, .axis { position: relative; display: grid; grid-template-columns: minmax(180px, 36%) minmax(0, 1fr) 96px; align-items: center; min-height: 32px; border-top: 1px solid var(--line); }
.axis { border-top: 0; color: var(--soft); font-size: 12px; } .axis > :first-child { padding-left: 16px; } .axis svg { display: block; width: 97%; height: 32px; overflow: visible; } .axis text { fill: var(--soft); font-size: 11px; } .axis line { stroke: var(--edge); }
.row:hover { background: var(--hover); } .row.on { background: var(--accent-wash); box-shadow: inset 2px 0 var(--accent); } .row > .num, .axis > .num { padding: 0 16px 0 8px; text-align: right; color: var(--soft); }
.row .name { display: flex; align-items: center; gap: 6px; min-width: 0; min-height: 32px; padding: 0 8px 0 calc(8px + var(--d, 0) * 20px); }
.d1 { --d: 1; } .d2 { --d: 2; } .d3 { --d: 3; } .d4 { --d: 4; } .d5 { --d: 5; } .d6 { --d: 6; } .d7 { --d: 7; } .d8 { --d: 8; } .d9 { --d: 9; }
.row .name > :is(a, span:not(.status)) { flex: 0 1 auto; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; line-height: 24px; } .row .name > a { color: var(--text); font-weight: 540; } .row .name > span.soft { flex-shrink: 100; } .row .status .i { margin: 0; }
.row .name > i { width: 24px; flex: none; } .fold { width: 24px; height: 24px; flex: none; } .fold > summary { display: grid; place-items: center; width: 24px; height: 24px; list-style: none; border-radius: 4px; } .fold > summary::-webkit-details-marker { display: none; } .fold > summary:hover { background: var(--sunken); } .fold .i { width: 10px; height: 10px; stroke-width: 2; } .fold[open] .i { transform: rotate(90deg); }
.row:has(.fold:not([open])) + ol { display: none; }
.bars { display: block; width: 100%; height: 32px; overflow: visible; } .bars svg { overflow: visible; }
.bars rect { y: 10px; height: 12px; rx: 2px; min-width: 2px; } .bars .queued { y: 15px; height: 2px; fill: var(--quiet); } .bars .executing { fill: var(--busy); } .bars .waiting { fill: var(--wait-wash); stroke: var(--wait); } .bars .hatched { fill: url(#hatch); } #hatch path { fill: none; stroke: var(--wait); stroke-width: 1.5; } .bars .retry { y: 14px; height: 4px; rx: 0; fill: none; stroke: var(--bad); stroke-dasharray: 2 3; } .bars .unknown { fill: var(--sunken); stroke: var(--field); stroke-dasharray: 3 2; } .bars :is(.thrown, .onward) { fill: none; stroke-width: 1.75; stroke: var(--bad); } .bars .onward { stroke: var(--busy); } .row:has(.status.waiting) .onward { stroke: var(--wait); }
.took { display: flex; flex-wrap: wrap; gap: 0 16px; padding: 10px 16px; border-bottom: 1px solid var(--line); list-style: none; font-size: 12px; } .took span { color: var(--soft); } .took li::before { content: ''; display: inline-block; width: 8px; height: 8px; margin-right: 6px; border-radius: 2px; background: var(--quiet); } .took .executing::before { background: var(--busy); } .took .waiting::before { background: var(--wait); } .took .unknown::before { background: var(--edge); }
.strip { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); margin: 16px 0; }
.strip > div { display: grid; grid-template: auto 1fr / auto minmax(0, 1fr); gap: 0 16px; align-items: end; padding: 12px 16px; border-left: 1px solid var(--line); } .strip > div:first-child { border-left: 0; }
.strip dt { grid-column: 1 / -1; margin-bottom: 4px; color: var(--soft); font-size: 12px; line-height: 16px; }
.strip dd { font-size: 24px; line-height: 28px; font-weight: 600; letter-spacing: -0.02em; white-space: nowrap; } .strip dd small { display: block; color: var(--soft); font-size: 12px; line-height: 16px; font-weight: 400; letter-spacing: 0; white-space: normal; }
.strip dd.side { align-self: start; color: var(--soft); font-size: 12px; line-height: 16px; font-weight: 400; letter-spacing: 0; } .strip dd.side b { color: var(--text); }
.spark { display: block; width: 118px; height: 18px; } .spark .ok { fill: var(--good); } .spark .no { fill: var(--bad); } .spark .off { fill: var(--edge); } .spark .busy { fill: var(--busy); }
.chart { display: block; width: 100%; height: 40px; } .chart .a { fill: var(--field); } .chart .now { fill: var(--text); } .chart .f { fill: var(--bad); } .chart .base { stroke: var(--line); }
.counts { display: flex; flex-wrap: wrap; gap: 4px; margin: 0 0 12px; }
.counts a, .tabs a { display: inline-flex; align-items: center; gap: 8px; min-height: 28px; padding: 0 9px; border-radius: 6px; color: var(--soft); }
:is(.counts, .tabs) a:hover { color: var(--text); background: var(--sunken); text-decoration: none; }
:is(.counts, .tabs) a[aria-current] { color: var(--text); background: var(--sunken); box-shadow: inset 0 0 0 1px var(--line); }
.tabs { display: flex; gap: 4px; margin-bottom: 12px; } .tabs .n { color: var(--text); } .tabs .end { margin-left: auto; }
.pages { display: flex; gap: 16px; margin: 16px 0 0; }
.empty { border: 1px dashed var(--field); border-radius: 8px; padding: 24px; color: var(--soft); max-width: 80ch; }
.split .empty { max-width: none; }
.empty h2 { margin: 0 0 4px; font-size: 16px; line-height: 24px; color: var(--text); }
.told { border: 1px solid var(--line); border-left: 3px solid var(--wait); background: var(--raised); padding: 10px 16px; margin: 12px 0; border-radius: 8px; overflow-wrap: anywhere; }
.told.good { border-left-color: var(--good); } .told.bad { border-left-color: var(--bad); }
.login { max-width: 380px; margin: 12vh auto 0; }
.login form { display: grid; gap: 12px; margin-top: 16px; }
dialog { border: 0; border-radius: 8px; background: var(--raised); color: var(--text); padding: 20px 24px; box-shadow: var(--float); }
dialog h2 { margin-top: 0; } dialog button { margin-top: 16px; }
dialog::backdrop { background: rgb(0 0 0 / 40%); }
.pairs { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 4px 16px; } .pairs dd { overflow-wrap: anywhere; } .about { padding: 12px 16px; margin-bottom: 8px; } .about :is(dt, .hint) { color: var(--soft); } .about .text { white-space: pre-line; overflow-wrap: anywhere; unicode-bidi: plaintext; } .about .pairs .pairs { padding-left: 12px; border-left: 2px solid var(--line); } .about ul { list-style: none; } .about table { border: 0; box-shadow: none; } .about :is(th, td) { padding: 2px 12px 2px 0; }
kbd { display: inline-block; min-width: 18px; padding: 0 4px; border: 1px solid var(--edge); border-radius: 4px; background: var(--raised); color: var(--text); font-size: 11px; line-height: 16px; text-align: center; }
.live[data-state='on']::before { content: ''; display: inline-block; width: 7px; height: 7px; margin-right: 6px; border-radius: 50%; background: var(--good); }
.live[data-state='off'] { color: var(--wait); }
#fresher { position: fixed; top: 56px; left: 50%; transform: translateX(-50%); z-index: 4; border-radius: 16px; border-color: var(--accent); color: var(--accent); box-shadow: var(--float); }
#fresher[hidden] { display: none; }
.only-script { display: none; }
html.scripted .only-script { display: inline-flex; align-items: center; }
.split { display: grid; grid-template-columns: minmax(0, 1fr) 416px; gap: 16px; align-items: start; }
.ask { display: grid; grid-template-columns: 116px minmax(0, 1fr) auto; gap: 4px 16px; padding: 16px; border-bottom: 1px solid var(--line); }
.ask:last-child { border-bottom: 0; }
.ask > div { min-width: 0; overflow-wrap: anywhere; }
.left { font-size: 16px; line-height: 22px; font-weight: 600; letter-spacing: -0.01em; } .left.no { color: var(--bad); } .left.warn { color: var(--wait); }
.left small { display: block; color: var(--soft); font-size: 12px; line-height: 18px; font-weight: 400; letter-spacing: 0; }
.ask h2 { margin: 0; font-size: 15px; line-height: 24px; } .ask h2 a { color: var(--text); }
.ask .data { display: flex; flex-wrap: wrap; gap: 0 16px; margin-top: 2px; } .ask .data :is(dt, dd) { display: inline; } .ask .data dt { color: var(--soft); }
.ask .meta { margin-top: 4px; color: var(--soft); font-size: 12px; } .ask .meta a { display: inline-block; min-height: 24px; line-height: 24px; }
.ask > .acts { align-self: start; }
.ask > details { grid-column: 2 / -1; justify-self: start; width: 100%; max-width: 560px; } .ask > details > form { margin-top: 12px; padding-top: 16px; border-top: 1px solid var(--line); }
.ended { grid-column: 2 / -1; padding: 8px 12px; border-radius: 6px; background: var(--quiet-wash); } .ended .line { display: none; }
.panel > header { display: flex; align-items: center; min-height: 44px; padding: 8px 16px; border-bottom: 1px solid var(--line); } .panel h2 { margin: 0; }
.panel > p { padding: 10px 16px; } .done li { padding: 10px 16px; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
.done .line { display: flex; gap: 16px; justify-content: space-between; } .done .line a { color: var(--text); min-height: 24px; line-height: 24px; } .done .line span { flex: none; }
.status + b { margin-left: 4px; }
`

/** Forms of questions are as dense as the pages around them. */
const FORMS = `
.answer + .actions { margin-top: 12px; }
.answer { font-size: 13px; line-height: 20px; max-width: 560px; }
.answer :is(label, legend) { font-size: 13px; color: var(--text); }
.answer .hint { font-size: 12px; }
.answer :is(input:not([type='checkbox'], [type='radio']), select, textarea) { min-height: 32px; padding: 5px 10px; border-radius: 6px; font-size: 13px; line-height: 20px; }
.answer .choices { gap: 2px; } .answer .choice { min-height: 28px; padding: 0; gap: 8px; border: 0; background: none; } .answer .choice input { width: 14px; height: 14px; }
.answer .choice:has(:checked) { box-shadow: none; }
.answer button { min-height: 32px; padding: 5px 12px; border-radius: 6px; border-color: var(--edge); font-size: 13px; }
.answer .acts button { flex: none; min-width: 0; }
.choose .answer { display: block; } .choose legend { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); } .choose .acts { justify-content: flex-end; max-width: 340px; }
.ask:not(:first-child) .choose .main { background: var(--raised); color: var(--accent); border-color: color-mix(in srgb, var(--accent) 45%, var(--raised)); }
`

const NARROW = `
@media (max-width: 1100px) { .split { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 860px) {
  :root { --pad: 16px; }
  html { scroll-padding-top: 96px; }
  header.top { flex-wrap: wrap; height: auto; gap: 0 12px; padding-top: 8px; }
  header.top nav { order: 3; flex: 1 0 100%; height: 40px; margin: 0 calc(var(--pad) * -1); padding: 0 calc(var(--pad) - 5px); overflow-x: auto; scrollbar-width: none; }
  header.top nav a { flex: none; padding: 0 6px; font-size: 12px; }
  main { padding-top: 16px; }
  .ask { grid-template-columns: minmax(0, 1fr); } .ask > details, .ended { grid-column: 1; } .left small { display: inline; margin-left: 6px; }
  .choose { margin-top: 8px; } .choose .acts { justify-content: flex-start; max-width: none; }
}
@media (max-width: 720px) {
  .columns { grid-template-columns: minmax(0, 1fr); }
  thead { position: absolute; left: -999px; }
  .row { grid-template-columns: minmax(0, 1fr) auto; } .row .bars { grid-column: 1 / -1; grid-row: 2; width: calc(100% - 32px); height: 28px; margin: -8px 16px 0; } .row .name { padding-left: calc(4px + min(var(--d, 0), 5) * 12px); } .axis { display: none; }
  table, tbody { display: block; width: 100%; }
  tr { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 14px; padding: 8px 16px; border-bottom: 1px solid var(--line); }
  tr:last-child { border-bottom: 0; } tr[data-at] { box-shadow: inset 2px 0 var(--accent); } tr[data-at] td:first-child { box-shadow: none; }
  td { display: block; padding: 0; border: 0; }
  td:empty { display: none; }
  td:first-child, td.says { flex: 1 1 100%; }
  td[data-label]::before { content: attr(data-label) ' '; color: var(--soft); font-size: 12px; }
  .facts { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .strip { grid-template-columns: repeat(2, minmax(0, 1fr)); } .strip > div:nth-child(odd) { border-left: 0; } .strip > div:nth-child(n + 3) { border-top: 1px solid var(--line); } .strip > div { grid-template: auto auto 1fr / minmax(0, 1fr); padding: 8px 12px; gap: 0; } .strip dd.side { grid-column: 1; margin-top: 6px; } .chart { height: 24px; }
}
@media (forced-colors: active) { :is(.chart .a, .spark .ok) { fill: CanvasText; } :is(.chart .f, .spark .no) { fill: Mark; } button.main { border-width: 2px; } [data-at] { outline: 2px solid Highlight; outline-offset: -2px; } }
`

/** The style of the pages: system fonts, light and dark as the system is, one column on a narrow screen. */
export const STYLE: string = BASE + FORM_STYLE + FORMS + NARROW
