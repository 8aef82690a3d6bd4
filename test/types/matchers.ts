import { expect } from 'vitest'
import { task, wait } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { matchers, taskTest } from 'waitpoint/vitest'
import { exactly } from './expect-type.ts'

const count = task({ id: 'count', run: async (payload: { text: string }) => payload.text.length })

expect.extend(matchers)

taskTest('matchers are for runs', { tasks: [count] }, async ({ t }) => {
  const run = await t.engine.trigger(count, { text: 'four' })
  const draft = t.engine.streams.define<string>({ id: 'draft' })
  exactly<Promise<void>>()(expect(run).toBeStuck())
  exactly<Promise<void>>()(expect(run).not.toBeWaitingFor(await t.waitingToken({ tag: 'a' })))
  await expect(run).toTimeOutIn('24h')
  await expect(run).toFinishWithin(5_000)
  await expect(run).toHaveEmitted('draft', ['a'])
  await expect(run).toHaveEmitted(draft, ['a'])

  // @ts-expect-error -- A number is no run.
  await expect(5).toBeStuck()
  // @ts-expect-error -- Neither is the id of one.
  await expect(run.id).toFinishWithin('5m')
  // @ts-expect-error -- A duration is needed.
  await expect(run).toFinishWithin()
})

await using t = await createTestEngine({ tasks: [count] })

// Payloads and outputs are those of the task.
exactly<number>()(t.calls(count).length)
for (const { payload, outcome } of t.calls(count)) {
  exactly<string>()(payload.text)
  if (outcome?.ok === true) exactly<number>()(outcome.output)
}
t.mock(count, async ({ text }) => {
  await wait.for({ seconds: 1 })
  return text.length
})
t.mock(count, () => 4)
// @ts-expect-error -- The task answers a number.
t.mock(count, () => 'four')
// @ts-expect-error -- Its payload has no such field.
t.mock(count, (_payload: { readonly words: number }) => 4)

// @ts-expect-error -- A token is found by one tag.
await t.complete({ tags: ['a'] }, 1)
await t.complete({ tag: 'a' }, 1, { at: '+1h' })
