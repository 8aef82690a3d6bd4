import { expect, it } from 'vitest'
import { metadata, task } from 'waitpoint'
import { type Body, explore } from 'waitpoint/testing'

/** A parent waits for two children, of which each takes longer than a lease. */
const family: Body = async (t) => {
  const part = task({
    id: 'part',
    run: async (minutes: number) => {
      await t.clock.sleep(`${minutes}m`)
      return minutes
    },
  })
  const whole = task({
    id: 'whole',
    run: async (_: null) => {
      const one = async (minutes: number): Promise<void> => {
        const result = await part.triggerAndWait(minutes).unwrap()
        const list = (metadata.get('done') ?? []) as number[]
        await t.step('audit')
        if (!list.includes(result)) metadata.append('done', result)
      }
      metadata.set('done', [])
      await Promise.all([one(10), one(20)])
      return metadata.get('done')
    },
  })
  t.use(part, whole)
  await (await t.engine.trigger(whole, null)).outcome()
}

/** The second wait is out when the engine loses its lease. The run does not park before it is answered. */
const LATE_WAIT = [
  'v1',
  'next@body/runs.insert#1>engine/runs.claim#1',
  'crash@engine/runs.claim#1>before',
  'next@body/runs.insert#2>engine/runs.claim#2',
  'next@whole/runs.insert#1>whole/runs.insert#2',
  'next@whole/runs.insert#1>engine/runs.claim#4',
  'next@whole/tokens.await#2>time/parking#1',
  'next@whole/tokens.await#2>time/part~2 slept 10m#1',
  'next@whole/tokens.await#2>part~2/runs.update#1',
  'next@whole/tokens.await#2>part~2/runs.get#1',
  'next@whole/tokens.await#2>engine/tick#1',
  'next@whole/tokens.await#2>engine/tick#2',
  'next@whole/tokens.await#2>engine/tick#3',
  'next@whole/tokens.await#2>engine/runs.claim#6',
]

it('a run whose second wait outlasts the lease of its engine comes to an end', async () => {
  const told = await explore(family, { crashes: 'every-commit', replay: LATE_WAIT.join('|') }).then(
    () => 'it has come to an end',
    String,
  )
  expect(told).toBe('it has come to an end')
})
