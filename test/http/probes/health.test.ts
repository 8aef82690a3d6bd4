import { describe, expect, it } from 'vitest'
import { type Clock, createEngine, memoryStorage, type RunRecord, type Storage, systemClock } from 'waitpoint'
import { createHandler, type Handler } from 'waitpoint/http'
import { ask, stillEngine } from '../requests.ts'

type Health = readonly [status: number, body: unknown]

const WELL: Health = [200, { ok: true }]
const UNWELL: Health = [503, { error: 'Service Unavailable' }]

async function health(handler: Handler): Promise<Health> {
  const { status, body } = await ask(handler, 'GET /healthz', { credential: null })
  return [status, body]
}

/** A memory storage whose reads of runs are answered by `get`. */
function readBy(get: () => Promise<RunRecord | undefined>): Storage {
  const storage = memoryStorage()
  return { ...storage, runs: { ...storage.runs, get } }
}

/** The system clock, on which the timers of health checks fire when told. */
function toldClock(): { readonly clock: Clock; readonly timeOut: () => void } {
  const clock = systemClock()
  const fires: (() => void)[] = []
  const told: Clock = {
    now: () => clock.now(),
    setTimer: (at, fire, about) => {
      if (about?.label.includes('health') !== true) return clock.setTimer(at, fire, about)
      fires.push(fire)
      return () => undefined
    },
  }
  return { clock: told, timeOut: () => fires.splice(0).forEach((fire) => fire()) }
}

describe('GET /healthz', () => {
  it('is 200 without a credential while the storage answers, also for HEAD', async () => {
    await using t = await stillEngine()
    const handler = createHandler(t.engine)
    expect(await health(handler)).toEqual(WELL)
    const head = await ask(handler, 'HEAD /healthz', { credential: null })
    expect([head.status, head.body, head.headers.get('cache-control')]).toEqual([200, '', 'no-store'])
  })

  it('is 503 once the engine is closing, and closed', async () => {
    const t = await stillEngine()
    const handler = createHandler(t.engine)
    expect(await health(handler)).toEqual(WELL)
    const closed = t.close()
    expect(await health(handler)).toEqual(UNWELL)
    await closed
    expect(await health(handler)).toEqual(UNWELL)
  })

  it('is 503 while the storage fails, without a detail of the reason and without an event', async () => {
    let failure: Error | undefined = new Error('password of the database')
    await using engine = createEngine({
      storage: readBy(async () => {
        if (failure !== undefined) throw failure
        return undefined
      }),
    })
    const errors: unknown[] = []
    engine.on('error', (event) => errors.push(event))
    const handler = createHandler(engine)
    expect(await health(handler)).toEqual(UNWELL)
    failure = undefined
    expect(await health(handler)).toEqual(WELL)
    expect(errors).toEqual([])
  })

  it('is 503 when the engine cannot be opened', async () => {
    const storage = memoryStorage()
    await using engine = createEngine({
      storage: { ...storage, open: () => Promise.reject(new Error('no such file')) },
    })
    expect(await health(createHandler(engine))).toEqual(UNWELL)
  })

  it('is 503 after 2 seconds without an answer, with one read at a time for all that ask', async () => {
    let reads = 0
    const { clock, timeOut } = toldClock()
    const storage = readBy(() => {
      reads += 1
      return new Promise(() => undefined)
    })
    await using engine = createEngine({ storage, clock })
    await engine.ready()
    const handler = createHandler(engine)
    const asked = Array.from({ length: 10 }, () => health(handler))
    await Promise.resolve()
    timeOut()
    expect(await Promise.all(asked)).toEqual(Array.from({ length: 10 }, () => UNWELL))
    expect(reads).toBe(1)
    // The read that hangs is left alone: the next caller has another one.
    const next = health(handler)
    await Promise.resolve()
    timeOut()
    expect(await next).toEqual(UNWELL)
    expect(reads).toBe(2)
  })
})
