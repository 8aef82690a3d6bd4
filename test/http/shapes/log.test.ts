import { describe, expect, it } from 'vitest'
import { type ShapeEntry, ShapeLog } from '../../../src/http/shapes/log.ts'

const entry = (number: number, size: number): ShapeEntry => ({
  number,
  place: 0,
  readAt: 0,
  versions: new Map(Array.from({ length: size }, (_, index) => [`run_${index}`, number])),
})

describe('ShapeLog', () => {
  it('forgets who has not come for longest when there is no more room, and never who has just come', () => {
    const log = new ShapeLog(10)
    log.set('a', entry(1, 3))
    log.set('b', entry(1, 3))
    log.set('a', entry(2, 3))
    log.set('c', entry(1, 3))
    expect([log.get('a')?.number, log.get('b'), log.get('c')?.number]).toEqual([2, undefined, 1])
    log.set('d', entry(1, 50))
    expect([log.size, log.get('d')?.number]).toEqual([1, 1])
  })

  it('counts those who have seen nothing, too', () => {
    const log = new ShapeLog(5)
    for (let index = 0; index < 100; index++) log.set(`s${index}`, entry(1, 0))
    expect(log.size).toBe(5)
  })
})
