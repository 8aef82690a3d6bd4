import { describe, expect, it } from 'vitest'
import { kernelOf } from '../../../src/core/engine.ts'
import { PacketStore } from '../../../src/http/runs/packet-store.ts'
import { stillEngine } from '../requests.ts'

const packet = { text: '1', type: 'application/json' }

describe('PacketStore', () => {
  it('keeps a packet for the caller that reserved its place, for at most five minutes', async () => {
    await using t = await stillEngine()
    const store = new PacketStore(kernelOf(t.engine).host, { packets: 1, packetBytes: 10 })
    const place = store.reserve('a')
    expect(() => store.reserve('a')).toThrow(expect.objectContaining({ status: 429 }))
    expect([
      store.accepts(place),
      store.accepts({ ...place, key: '' }),
      store.accepts({ path: '', key: '' }),
    ]).toEqual([true, false, false])
    expect(store.get('a', place.path)).toBeUndefined()
    store.put(place.path, packet)
    expect([store.get('a', place.path), store.get('b', place.path)]).toEqual([packet, undefined])
    await t.clock.advance('5m')
    expect([store.accepts(place), store.get('a', place.path)]).toEqual([false, undefined])
    expect(() => store.put(place.path, packet)).toThrow(expect.objectContaining({ status: 404 }))
    store.reserve('a')
  })

  it('drops unused packets by itself', async () => {
    await using t = await stillEngine()
    const store = new PacketStore(kernelOf(t.engine).host, { packets: 2, packetBytes: 10 })
    const planned = (): string => JSON.stringify(t.clock.pending())
    const sweeping = 'dropping payloads'
    store.reserve('a')
    await t.clock.advance('1m')
    store.reserve('a')
    expect(planned()).toContain(sweeping)
    await t.clock.advance('5m')
    expect(planned()).toContain(sweeping)
    await t.clock.advance('5m')
    expect(planned()).not.toContain(sweeping)
  })
})
