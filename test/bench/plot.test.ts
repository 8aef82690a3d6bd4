import { describe, expect, it } from 'vitest'
import type { Curve } from '../../bench/measurement.ts'
import { renderPlot } from '../../bench/plot.ts'

const curve: Curve = {
  what: 'runs <at once>',
  unit: 'ns',
  sizes: 'runs',
  lines: [
    {
      name: 'waitpoint',
      points: [
        { size: 10, cost: 1e3 },
        { size: 100, cost: 1e4 },
        { size: 1_000, cost: 1e5 },
      ],
    },
    { name: 'a peer', points: [{ size: 1_000, cost: 1e5 }] },
  ],
}

describe('renderPlot', () => {
  it('draws what is linear as a straight line, from corner to corner of as many decades', () => {
    const dots = [...renderPlot(curve).matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)]
    const [first, second, third] = dots.map(([, x, y]) => ({ x: Number(x), y: Number(y) }))
    expect(second!.x - first!.x).toBe(third!.x - second!.x)
    expect(second!.y - first!.y).toBe(third!.y - second!.y)
    expect(third!.y).toBeLessThan(first!.y)
  })

  it('names what the axes count, and every decade', () => {
    const plot = renderPlot(curve)
    for (const words of ['>10<', '>100<', '>1,000<', '>1 µs<', '>10 µs<', '>100 µs<', '>runs<']) {
      expect(plot).toContain(words)
    }
    expect(plot).toContain('>runs &lt;at once><')
  })

  it('keeps names of lines that end at the same place apart', () => {
    const names = [...renderPlot(curve).matchAll(/y="([\d.]+)" fill="#[^"]+">(waitpoint|a peer)</g)]
    const [one, other] = names.map(([, y]) => Number(y))
    expect(Math.abs(one! - other!)).toBeGreaterThanOrEqual(16)
  })
})
