import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RunTools } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { bodyTask } from '../support/body-task.ts'
import { cases } from '../support/cases.ts'

const START = Date.UTC(2000, 0, 1)

describe('waits in parallel', () => {
  it('take as long as the longest, and one park for all of them', async () => {
    const statuses: string[] = []
    const only = bodyTask(async ({ wait }) => {
      await Promise.all([1, 3, 2].map((minutes) => wait.for({ minutes })))
      return t.clock.now() - START
    })
    await using t = await createTestEngine({ tasks: [only] })
    t.engine.on('run', ({ status }) => statuses.push(status))
    expect(await (await t.engine.trigger(only, null)).result()).toBe(180_000)
    await t.clock.settle()
    expect(statuses.filter((status) => status === 'WAITING')).toHaveLength(3)
  })

  it('race a token against a sleep of the run', async () => {
    let tokenId = ''
    const only = bodyTask(async ({ wait }: RunTools) => {
      const loser = new AbortController()
      const winner = await Promise.race([
        wait.forToken<string>(tokenId, loser).unwrap(),
        wait.for({ minutes: 5, signal: loser.signal }).then(() => 'reminder'),
      ])
      loser.abort()
      return [winner, t.engine.stats().waits, t.clock.now() - START]
    })
    await using t = await createTestEngine({ tasks: [only], clock: { mode: 'manual' } })
    tokenId = (await t.engine.wait.createToken({ timeout: '1d' })).id
    const reminded = await t.engine.trigger(only, null)
    await t.clock.advance('5m')
    expect(await reminded.result()).toEqual(['reminder', 0, 300_000])
    const answered = await t.engine.trigger(only, null)
    await t.clock.settle()
    await t.engine.wait.completeToken(tokenId, 'answer')
    expect(await answered.result()).toEqual(['answer', 0, 300_000])
  })

  it('collect the first answers of many, until enough have come', async () => {
    const only = bodyTask(async ({ wait }) => {
      const tokens = await Promise.all(
        Array.from({ length: 5 }, () => wait.createToken({ timeout: '1d', tags: 'vote' })),
      )
      const votes: string[] = []
      await new Promise<void>((resolve) => {
        for (const token of tokens) {
          void wait.forToken<string>(token).then((result) => {
            if (result.ok) votes.push(result.output)
            if (votes.length === 3) resolve()
          })
        }
      })
      return votes
    })
    await using t = await createTestEngine({ tasks: [only], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(only, null)
    await t.clock.settle()
    const { data } = await t.engine.wait.listTokens({ tags: 'vote' })
    for (const [index, vote] of ['a', 'b', 'c', 'd'].entries()) {
      expect(await t.engine.wait.completeToken(data[index]!, vote)).toMatchObject({ success: true })
      await t.clock.settle()
    }
    expect(await run.result()).toEqual(['a', 'b', 'c'])
    expect(t.engine.stats().waits).toBe(0)
  })

  it('release every waiter exactly once, in any order of settling', async () => {
    const plan = fc.record({
      tokens: fc.integer({ min: 1, max: 3 }),
      /** For every run the tokens it waits for, by index; the same one more than once at times. */
      runs: fc.array(fc.array(fc.nat({ max: 2 }), { minLength: 1, maxLength: 4 }), {
        minLength: 1,
        maxLength: 4,
      }),
      /** When each token is answered, around its deadline of 10. */
      answers: fc.array(fc.constantFrom(0, 1, 9, 10, 11), { minLength: 3, maxLength: 3 }),
      isKeyed: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(plan, async ({ tokens, runs, answers, isKeyed }) => {
        const ids: string[] = []
        const released: number[][] = []
        const only = bodyTask(async ({ wait, ctx }) => {
          const own: number[] = []
          const run = released.push(own) - 1
          await Promise.all(
            runs[run]!.map(async (pick, place) => {
              const options = isKeyed ? { idempotencyKey: `${ctx.run.id} ${place}` } : {}
              const { ok } = await wait.forToken(ids[pick % tokens]!, options)
              expect(ok).toBe(answers[pick % tokens]! < 10)
              own.push(place)
            }),
          )
        })
        await using t = await createTestEngine({ tasks: [only], clock: { mode: 'manual' } })
        for (let count = 0; count < tokens; count += 1)
          ids.push((await t.engine.wait.createToken({ timeout: 10 })).id)
        const handles = []
        for (const _ of runs) handles.push(await t.engine.trigger(only, null))
        for (let now = 0; now <= 11; now += 1) {
          for (const [index, id] of ids.entries()) {
            if (answers[index] === now) await t.engine.wait.completeToken(id, now)
          }
          await t.clock.advance(1)
        }
        for (const handle of handles) expect(await handle.outcome()).toMatchObject({ ok: true })
        expect(released.map((places) => [...places].sort())).toEqual(
          runs.map((picks) => picks.map((_, place) => place)),
        )
        await t.clock.settle()
        expect(t.engine.stats()).toMatchObject({ attempts: 0, executing: 0, waits: 0 })
      }),
      { numRuns: cases(60) },
    )
  })

  it('are many: 2,000 in one run', async () => {
    const only = bodyTask(async ({ wait }) => {
      const tokens = await Promise.all(
        Array.from({ length: 2_000 }, () => wait.createToken({ timeout: '1h' })),
      )
      const outputs = await Promise.all(tokens.map((token) => wait.forToken<number>(token).unwrap()))
      return outputs.reduce((sum, output) => sum + output, 0)
    })
    await using t = await createTestEngine({ tasks: [only], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(only, null)
    await t.clock.settle()
    expect(t.engine.stats().waits).toBe(2_000)
    for await (const { id } of t.engine.wait.listTokens({ limit: 100 }))
      await t.engine.wait.completeToken(id, 1)
    expect(await run.result()).toBe(2_000)
  })
})
