import { expect } from 'vitest'
import { taskTest } from 'waitpoint/vitest'
import { approval, publish } from './publish.ts'

const publishTest = taskTest.with({ tasks: [publish] })

publishTest('is published when the answer comes after 23 hours', async ({ t }) => {
  const run = await t.engine.trigger(publish, { doc: 'chapter 1' })
  await t.complete({ tag: approval.tag }, 'publish', { at: '+23h' })
  expect(await run.result()).toBe('chapter 1 is published')
})

publishTest('is dropped after a day without an answer', async ({ t }) => {
  const run = await t.engine.trigger(publish, { doc: 'chapter 1' })
  expect(await run.result()).toBe('chapter 1 is dropped')
})
