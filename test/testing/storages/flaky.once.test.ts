import { describe, expect, it } from 'vitest'
import { memoryStorage, once, type RunTools, task, wait } from 'waitpoint'
import { createTestEngine, flakyStorage } from 'waitpoint/testing'
import { alwaysAsync } from '../../../src/testing/storages/async.ts'

const SEEDS = Array.from({ length: 25 }, (_, at) => at + 1)

const child = task({
  id: 'child',
  run: async (depth: number): Promise<number> => {
    await wait.for({ minutes: 1 })
    return depth === 0 ? 1 : 1 + (await child.triggerAndWait(depth - 1).unwrap())
  },
})

const effects = new Map<string, number>()

/** Everything that a run may ask of a storage, one after the other and side by side. */
async function everything(_: null, { ctx, metadata, streams, runs }: RunTools): Promise<unknown> {
  metadata.set('step', 1)
  const mail = await once('mail', () => {
    const count = (effects.get(ctx.run.id) ?? 0) + 1
    effects.set(ctx.run.id, count)
    return 'sent'
  })
  const [sum, times] = await Promise.all([
    child.triggerAndWait(2).unwrap(),
    Promise.all([1, 2, 3].map((minutes) => wait.for({ minutes }))),
  ])
  for (const part of ['a', 'b', 'c']) await streams.append('parts', part)
  const token = await wait.createToken({ timeout: '1d', idempotencyKey: `key of ${ctx.run.id}` })
  const first = await wait.completeToken(token, 'yes')
  const again = await wait.completeToken(token, 'no')
  const answer = await wait.forToken(token).unwrap()
  metadata.increment('step')
  await metadata.flush()
  const { status } = await runs.retrieve(ctx.run.id)
  return {
    mail,
    sum,
    times: times.length,
    answers: [first.success, again.success, answer],
    status,
    step: metadata.get('step'),
  }
}

describe('flakyStorage', () => {
  it.each([
    ['at once', memoryStorage],
    ['later', () => alwaysAsync(memoryStorage())],
  ])('changes the end of no run on a storage that answers %s', async (_when, open) => {
    let outages = 0
    for (const seed of SEEDS) {
      const all = task({ id: 'all', run: everything })
      await using t = await createTestEngine({
        tasks: [all, child],
        storage: flakyStorage(open(), { seed }),
        seed,
      })
      const errors: unknown[] = []
      t.engine.on('error', ({ error }) => errors.push(error))
      const run = await t.engine.trigger(all, null)
      expect(await run.result(), `seed ${seed}`).toEqual({
        mail: 'sent',
        sum: 3,
        times: 3,
        answers: [true, false, 'yes'],
        status: 'EXECUTING',
        step: 2,
      })
      expect(await t.engine.runs.retrieve(run)).toMatchObject({ attemptCount: 1 })
      expect(effects.get(run.id)).toBe(1)
      const chunks: unknown[] = []
      for await (const chunk of t.engine.streams.read(run, 'parts')) chunks.push(chunk)
      expect(chunks, `seed ${seed}`).toEqual(['a', 'b', 'c'])
      for (const error of errors) expect(error).toMatchObject({ code: 'ERR_STORAGE_UNAVAILABLE' })
      outages += errors.length
      effects.clear()
    }
    expect(outages).toBeGreaterThan(SEEDS.length)
  })

  it('meets the same troubles with the same seed', async () => {
    const seen = async (seed: number): Promise<string> => {
      const storage = flakyStorage(memoryStorage(), { seed })
      let text = ''
      for (let now = 0; now < 100; now += 1) {
        try {
          await storage.tick({ owner: 'engine', leaseUntil: now + 10, now, limit: 1 })
          text += '.'
        } catch {
          text += 'x'
        }
      }
      return text
    }
    expect(await seen(1)).toBe(await seen(1))
    expect(await seen(1)).not.toBe(await seen(2))
    expect(await seen(1)).toMatch(/x.*\..*x/)
  })
})
