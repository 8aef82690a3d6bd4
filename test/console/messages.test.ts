import { expect, it } from 'vitest'
import { streams, task, wait } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { KEY, Visitor } from './visitor.ts'

const inbox = streams.input<string>({ id: 'messages' })

const chat = task({
  id: 'chat',
  run: async () => {
    await wait.for({ seconds: 1 })
    const first = await inbox.wait().unwrap()
    await wait.for({ seconds: 1 })
    return [first, ...(await inbox.take())]
  },
})

it('shows on the page of a run the messages that it has not read, as many as fit', async () => {
  await using t = await createTestEngine({ tasks: [chat], secretKey: KEY, clock: { mode: 'manual' } })
  const run = await t.engine.trigger(chat)
  await t.clock.settle()
  const visitor = await Visitor.loggedIn(t.engine)
  const shown = async (): Promise<string> =>
    (await visitor.get(`/runs/${run.id}`)).text.split('<div id="messages"')[1]?.split('<div id="log"')[0] ??
    ''
  expect(await shown()).not.toContain('Messages that wait')
  const sent = t.engine.streams.input<string>({ id: 'messages' })
  await sent.send(run, 'hello', { by: { id: 'ann', name: 'Ann' } })
  await sent.send(run, `long ${'x'.repeat(1_000_000)}`)
  for (let count = 0; count < 60; count += 1) await sent.send(run, `number ${count}.`)
  const before = await shown()
  for (const text of ['hello', 'Ann', 'long x', 'number 47.', 'The first 50 of 62 messages.'])
    expect(before).toContain(text)
  expect(before).not.toContain('number 48.')
  expect(before.length).toBeLessThan(20_000)
  await t.clock.advance('1s')
  const then = await shown()
  expect([then.includes('hello'), then.includes('The first 50 of 61 messages.')]).toEqual([false, true])
  await t.clock.advance('1s')
  expect(await run.result()).toHaveLength(62)
  expect(await shown()).not.toContain('Messages that wait')
})
