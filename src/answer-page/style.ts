import { accentOf } from './accent.ts'

/** The style of a page, in the colors of a brand. */
export function styleOf(accent = '#3548c8'): string {
  const { light, dark, lightInk, darkInk } = accentOf(accent)
  return `${colors(light, lightInk)}${darkColors(dark, darkInk)}${FORM_STYLE}${PAGE_STYLE}`
}

const colors = (accent: string, ink: string): string => `
:root {
  color-scheme: light dark;
  --ground: #f7f7f5; --raised: #ffffff; --sunken: #f2f2ef; --line: #e8e7e3; --field: #8a8983;
  --text: #1a1a19; --soft: #5b5a56; --accent: ${accent}; --accent-ink: ${ink};
  --good: #17703f; --good-wash: #e8f4ec; --bad: #b9281c; --bad-wash: #fceeec; --quiet-wash: #eeeeea;
  --code: ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace;
}`

const darkColors = (accent: string, ink: string): string => `
@media screen and (prefers-color-scheme: dark) {
  :root {
    --ground: #101012; --raised: #17171a; --sunken: #1f1f23; --line: #27272c; --field: #74747d;
    --text: #ececee; --soft: #a2a2aa; --accent: ${accent}; --accent-ink: ${ink};
    --good: #62cb91; --good-wash: #14291e; --bad: #ff8d82; --bad-wash: #331a18; --quiet-wash: #232327;
  }
}`

/** The style of the form alone. It takes its colors from the page around it. */
export const FORM_STYLE = `
.answer { display: grid; gap: 16px; }
.answer :is(fieldset, p, ul) { margin: 0; padding: 0; border: 0; min-width: 0; }
.answer :is(input, select, textarea, button) { font: inherit; color: inherit; }
.answer :is(label, legend) { display: block; padding: 0; font-weight: 560; overflow-wrap: anywhere; }
.answer .hint { color: var(--soft); font-size: 13px; line-height: 18px; font-weight: 400; overflow-wrap: anywhere; }
.answer .hint.lines { display: block; white-space: pre-line; }
.answer :is(input:not([type='checkbox'], [type='radio']), select, textarea) { display: block; width: 100%; min-height: 44px; margin-top: 4px; padding: 9px 12px; border: 1px solid var(--field); border-radius: 8px; background: var(--raised); font-size: 16px; line-height: 24px; }
.answer textarea { min-height: 76px; max-height: 50vh; resize: vertical; field-sizing: content; }
.answer textarea.json { min-height: 140px; font-family: var(--code); font-size: 14px; }
.answer :is([aria-invalid='true'], .wrong > .choices > .choice):is(input, select, textarea, .choice) { border-color: var(--bad); box-shadow: inset 0 0 0 1px var(--bad); }
.answer .error { color: var(--bad); font-size: 14px; line-height: 20px; margin-top: 4px; font-weight: 500; overflow-wrap: anywhere; }
.answer .choices { display: grid; gap: 8px; margin-top: 6px; }
.answer .choice { display: flex; gap: 12px; align-items: center; min-height: 48px; padding: 8px 12px; border: 1px solid var(--field); border-radius: 8px; background: var(--raised); font-weight: 400; cursor: pointer; }
.answer .choice > span { min-width: 0; }
.answer .choice small { display: block; color: var(--soft); font-size: 13px; line-height: 18px; overflow-wrap: anywhere; }
.answer .choice input { width: 18px; height: 18px; margin: 0; flex: none; accent-color: var(--accent); }
.answer .choice:has(:checked) { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
.answer .choice:has(:focus-visible) { outline: 2px solid var(--accent); outline-offset: 2px; }
.answer .choice input:focus-visible { outline: none; }
.answer :is(.group, .row) { display: grid; gap: 12px; padding: 16px; border: 1px solid var(--line); border-radius: 8px; background: var(--raised); }
.answer :is(.group, .row) > legend { float: left; width: 100%; }
.answer :is(.group, .row) > legend + * { clear: both; }
.answer .rows { display: grid; gap: 10px; margin-top: 6px; }
.answer .row { grid-template-columns: repeat(auto-fit, minmax(min(150px, 100%), 1fr)); align-items: start; padding: 12px 16px 16px; }
.answer .row > div { display: flex; flex-direction: column; } .answer .row .hint.lines { order: 1; margin-top: 4px; } .answer .row .error { order: 2; }
.answer .row > legend { font-size: 13px; color: var(--soft); grid-column: 1 / -1; }
.answer button { min-height: 44px; padding: 8px 16px; border: 1px solid var(--field); border-radius: 8px; background: var(--raised); font-weight: 560; font-size: 15px; cursor: pointer; overflow-wrap: anywhere; }
.answer button small { display: block; font-size: 13px; font-weight: 400; }
.answer button:hover { border-color: var(--text); }
.answer button.main { border-color: var(--accent); background: var(--accent); color: var(--accent-ink); }
.answer button.main:hover { box-shadow: inset 0 0 0 99px rgb(0 0 0 / 8%); }
.answer .more { justify-self: start; font-size: 14px; }
.answer .acts { display: flex; flex-wrap: wrap; gap: 8px; }
.answer .acts button { flex: 1 1 40%; min-width: min(140px, 100%); }
.answer .problems { padding: 12px 16px; border-radius: 8px; background: var(--bad-wash); border-inline-start: 4px solid var(--bad); }
.answer .problems strong { display: block; }
.answer .problems ul { list-style: none; display: grid; gap: 2px; margin-top: 4px; }
.answer .problems a { display: inline-block; color: var(--bad); min-height: 24px; }
.answer .problems li { overflow-wrap: anywhere; }
.answer pre { margin: 8px 0 0; padding: 10px 12px; border-radius: 8px; background: var(--sunken); font: 13px/19px var(--code); white-space: pre-wrap; overflow-wrap: anywhere; max-height: 320px; overflow: auto; }
.answer summary { cursor: pointer; min-height: 24px; color: var(--soft); }
.unseen { position: absolute; width: 1px; height: 1px; margin: 0; padding: 0; border: 0; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.answer button.unseen { min-height: 0; padding: 0; }`

const PAGE_STYLE = `
*, ::before, ::after { box-sizing: border-box; }
html { font: 400 15px/22px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--text); font-variant-numeric: tabular-nums; }
h1, h2, p, dl, dd, ul { margin: 0; padding: 0; }
main { max-width: 592px; margin: 0 auto; padding: 32px 20px 48px; }
h1 { font-size: 23px; line-height: 30px; font-weight: 640; letter-spacing: -0.012em; overflow-wrap: anywhere; }
h2 { font-size: 15px; line-height: 22px; font-weight: 620; margin: 24px 0 8px; }
b, strong { font-weight: 620; }
a { color: var(--accent); text-underline-offset: 2px; overflow-wrap: anywhere; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.from { display: flex; align-items: center; gap: 10px; color: var(--soft); margin-bottom: 16px; overflow-wrap: anywhere; }
.from svg { width: 20px; height: 20px; flex: none; color: var(--accent); }
.from img { max-width: 140px; max-height: 32px; }
.message { margin-top: 8px; white-space: pre-line; overflow-wrap: anywhere; }
.lead { margin: 8px 0 20px; color: var(--soft); overflow-wrap: anywhere; }
.lead b { color: var(--text); }
.hint { color: var(--soft); font-size: 13px; line-height: 18px; }
.sheet a { display: inline-block; min-height: 24px; line-height: 24px; }
:is(h1, .message) + .sheet { margin-top: 20px; }
.sheet { padding: 16px; border: 1px solid var(--line); border-radius: 10px; background: var(--raised); }
.pairs { display: grid; grid-template-columns: minmax(72px, max-content) minmax(0, 1fr); gap: 4px 16px; }
.pairs dt { max-width: 180px; color: var(--soft); overflow-wrap: anywhere; }
.pairs dd { min-width: 0; overflow-wrap: anywhere; }
.pairs .pairs { padding-inline-start: 12px; border-inline-start: 2px solid var(--line); }
.text { white-space: pre-line; overflow-wrap: anywhere; unicode-bidi: plaintext; }
.list { list-style: none; }
pre { margin: 0; padding: 10px 12px; border-radius: 8px; background: var(--sunken); font: 13px/19px var(--code); white-space: pre-wrap; overflow-wrap: anywhere; max-height: 320px; overflow: auto; }
table { width: 100%; border-collapse: collapse; font-size: 14px; }
th { text-align: start; font-weight: 500; color: var(--soft); padding: 2px 0 4px; padding-inline-end: 12px; overflow-wrap: anywhere; }
td { padding: 5px 0; padding-inline-end: 12px; border-top: 1px solid var(--line); vertical-align: baseline; overflow-wrap: anywhere; }
form.answer { margin-top: 24px; font-size: 15px; line-height: 22px; }
.settled { display: flex; gap: 12px; padding: 16px; border-radius: 10px; background: var(--quiet-wash); margin-bottom: 20px; overflow-wrap: anywhere; }
.settled.good { background: var(--good-wash); } .settled.good svg { color: var(--good); }
.settled svg { width: 20px; height: 20px; flex: none; margin-top: 1px; }
.settled div { min-width: 0; }
.settled p { color: var(--soft); } .settled .said { color: var(--text); white-space: pre-line; }
footer { margin-top: 24px; color: var(--soft); font-size: 13px; line-height: 18px; overflow-wrap: anywhere; }
svg { fill: none; stroke: currentColor; stroke-width: 1.6; stroke-linecap: round; stroke-linejoin: round; }
@media (max-width: 480px) {
  main { padding: 20px 16px 40px; }
  .pairs { grid-template-columns: minmax(0, 1fr); gap: 0; } .pairs dd { margin-bottom: 8px; } .pairs dt { max-width: none; }
  table, tbody, tr, td { display: block; } thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tr { padding: 6px 0; border-top: 1px solid var(--line); } td { border: 0; padding: 1px 0; }
  td::before { content: attr(data-label) ': '; color: var(--soft); }
}
@media (forced-colors: active) { .answer button.main { border-width: 2px; } .answer .choice:has(:checked) { outline: 2px solid Highlight; } }
@media print {
  body { background: none; } main { max-width: none; padding: 0; } .sheet, .settled, .answer :is(.group, .row, .choice) { break-inside: avoid; }
  .answer :is(button, .acts, .more) { display: none; } pre { max-height: none; } a[href^='http']::after { content: none; }
}
`
