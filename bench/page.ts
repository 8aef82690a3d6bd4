import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type Bar, renderBars } from './bars.ts'
import { type Headline, TWENTY } from './headlines.ts'
import { readResults, type Result } from './results.ts'

const README = 'bench/README.md'
const PLOTS = 'bench/plots'
const BEGIN = '<!-- measured: begin -->'
const END = '<!-- measured: end -->'
const NONE = '–'

/** A headline with its newest result. */
interface Row {
  readonly headline: Headline
  readonly result: Result
}

/** Writes the table and the two plots of the README from the results. */
export function writePage(): void {
  const rows = rowsOf(readResults())
  mkdirSync(PLOTS, { recursive: true })
  for (const [file, svg] of plotsOf(rows)) writeFileSync(`${PLOTS}/${file}`, svg)
  writeFileSync(README, replaceBlock(readFileSync(README, 'utf8'), renderTable(rows)))
}

/** The headlines that were measured once; `results` are in order, the newest first. */
export function rowsOf(results: readonly Result[]): readonly Row[] {
  return TWENTY.flatMap((headline) => {
    const { figure, what } = headline
    const result = results.find((one) => one.figure === figure && one.what === what)
    return result === undefined ? [] : [{ headline, result }]
  })
}

/** The table of the README. */
export function renderTable(rows: readonly Row[]): string {
  const lines = rows.map(({ headline, result }) => {
    const { what, says = what, beside = '' } = headline
    const other = result.beside === NONE ? '' : `${result.beside}: ${beside}`
    const goal = result.goal === '' ? '' : `${result.goal} ${result.verdict}`
    return `| ${says} | ${result.ours} | ${other} | ${goal} | ${result.date} |\n`
  })
  return `| | ours | beside it | goal | measured |\n|---|--:|---|---|---|\n${lines.join('')}`
}

/** A document with its marked block replaced. */
export function replaceBlock(document: string, block: string): string {
  const begin = document.indexOf(BEGIN)
  const end = document.indexOf(END)
  if (begin < 0 || end < begin) throw new Error(`Cannot write "${README}": it has no block "${BEGIN}"`)
  return `${document.slice(0, begin + BEGIN.length)}\n\n${block.trim()}\n\n${document.slice(end)}`
}

function plotsOf(rows: readonly Row[]): readonly (readonly [string, string])[] {
  const bars = (those: readonly Row[]): readonly Bar[] =>
    those.flatMap(({ headline: { what, beside = '' }, result }) => [
      { name: nameOf(what), value: result.ours, isOurs: true },
      { name: beside.replaceAll('`', ''), value: result.beside, isOurs: false },
    ])
  const storages = rows.filter(
    ({ headline: { figure, what } }) => figure !== 'peers' && /^run with a wait, 1,000/.test(what),
  )
  const peers = rows.filter(({ headline: { what } }) => /^run with a wait, 1,000 at once, beside/.test(what))
  return [
    [
      'storages.svg',
      renderBars('Time of a run with a wait, 1,000 at once, beside the bare work', bars(storages)),
    ],
    ['peers.svg', renderBars('Time of a run with a wait, 1,000 at once, beside peers', bars(peers))],
  ]
}

/** Where ours was measured. */
function nameOf(what: string): string {
  if (what.includes('Postgres')) return 'waitpoint, Postgres'
  return what.includes('SQLite') ? 'waitpoint, SQLite file' : 'waitpoint, in memory'
}
