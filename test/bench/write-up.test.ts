import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { nanosecondsOf, renderBars } from '../../bench/bars.ts'
import { TEN, TWENTY } from '../../bench/headlines.ts'
import { renderTable, replaceBlock, rowsOf } from '../../bench/page.ts'
import { renderReport } from '../../bench/report.ts'
import { parseReport, readResults } from '../../bench/results.ts'

describe('replaceBlock', () => {
  it('leaves everything outside of the marks as it is, however often it is written', () => {
    const document = 'before\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nafter\n'
    const once = replaceBlock(document, 'new')
    expect(once).toBe('before\n<!-- measured: begin -->\n\nnew\n\n<!-- measured: end -->\nafter\n')
    expect(replaceBlock(once, 'new')).toBe(once)
  })

  it('refuses a document without marks', () => {
    expect(() => replaceBlock('nothing', 'new')).toThrow('it has no block')
  })
})

describe('parseReport', () => {
  it('reads what renderReport has written', () => {
    const occasion = {
      at: new Date(0),
      node: 'v22',
      platform: 'linux',
      cpus: 2,
      model: 'x',
      load: 0,
      peers: [],
    }
    const report = renderReport(occasion, [
      {
        name: 'runs',
        measurements: [
          {
            what: 'run with a wait, → and back',
            unit: 'ns',
            count: 1_000,
            ours: { values: [20_000] },
            bare: { values: [10_000] },
            goal: { kind: 'ratio', most: 2 },
          },
          { what: 'alone', unit: 'bytes', count: 1, ours: { values: [5] } },
          { what: 'not here', why: 'a reason' },
        ],
      },
    ])
    const common = { date: '1970-01-01', figure: 'runs' }
    expect(parseReport(report)).toEqual([
      {
        ...common,
        what: 'run with a wait, → and back',
        ours: '20 µs',
        beside: '10 µs',
        goal: '≤ 2×',
        verdict: 'met',
      },
      { ...common, what: 'alone', ours: '5 B', beside: '–', goal: '', verdict: '' },
    ])
  })
})

describe('the page of the bench', () => {
  const rows = rowsOf(readResults())

  it('has ten figures that are measured by default, and twenty in all, each with a result', () => {
    expect([TEN.length, TWENTY.length, rows.length]).toEqual([10, 20, 20])
  })

  it('shows the newest result of each', () => {
    expect(readFileSync('bench/README.md', 'utf8')).toContain(`\n\n${renderTable(rows).trim()}\n\n`)
  })

  it('has at most 12 kB', () => {
    expect(readFileSync('bench/README.md').length).toBeLessThanOrEqual(12_000)
  })
})

describe('renderBars', () => {
  it('draws a longer bar for a longer time, and refuses what is no time', () => {
    const svg = renderBars('times', [
      { name: 'ours', value: '10 µs', isOurs: true },
      { name: 'a peer', value: '1 ms', isOurs: false },
    ])
    const [, ours = 0, peer = 0] = Array.from(svg.matchAll(/<rect .*?width="(\d+)"/g), ([, width]) =>
      Number(width),
    )
    expect(ours).toBeLessThan(peer)
    expect(() => nanosecondsOf('3 kB')).toThrow('it is no time')
  })
})
