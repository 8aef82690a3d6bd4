import { describe, expect, it } from 'vitest'
import { createEngine, metadata, streams, wait } from 'waitpoint'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { memoryStorage } from '../../../src/storage/memory/memory.ts'
import { abandonable } from '../../support/abandon.ts'
import { bodyTask } from '../../support/body-task.ts'
import { PushSource } from '../../support/streams.ts'
import { turn, until } from '../../support/turn.ts'

// What the hosted service met with messages into a conversation. The numbers are those of triggerdotdev/trigger.dev.

const inbox = streams.input<string>({ id: 'messages' })

/** Three turns of a conversation, each of which parks in its middle. */
const chat = bodyTask(async () => {
  const read: string[] = []
  for (let turns = 0; turns < 3; turns += 1) {
    read.push(await inbox.wait().unwrap())
    await wait.for({ minutes: 1 })
  }
  return read
})

describe('a message into a run', () => {
  it('that was read is not read again by the place that comes next, in the process that goes on (#4176)', async () => {
    const [clock, storage] = [testClock({ mode: 'manual' }), memoryStorage()]
    const ports = abandonable(clock, storage)
    const first = createEngine({ tasks: [chat], clock: ports.clock, storage: ports.storage })
    const run = await first.tasks.trigger('body', null)
    const sent = first.streams.input<string>({ id: 'messages' })
    // One is there before the run reads, one comes while it is parked for it.
    await sent.send(run, 'a')
    await clock.advance('1m')
    await sent.send(run, 'b')
    await clock.settle()
    ports.abandon()
    await using second = createEngine({ tasks: [chat], clock, storage })
    await second.ready()
    await clock.advance('10m')
    await second.streams.input<string>({ id: 'messages' }).send(run, 'c')
    await clock.advance('1m')
    expect((await second.runs.retrieve(run.id)).output).toEqual(['a', 'b', 'c'])
  })

  it('that comes during a turn has a turn of its own, however many come (#4176)', async () => {
    await using t = await createTestEngine({ tasks: [chat], clock: { mode: 'manual' } })
    const run = await t.engine.tasks.trigger('body', null)
    const sent = t.engine.streams.input<string>({ id: 'messages' })
    await sent.send(run, 'a')
    await t.clock.settle()
    await Promise.all([sent.send(run, 'b'), sent.send(run, 'c')])
    await t.clock.advance('3m')
    expect(await run.result()).toEqual(['a', 'b', 'c'])
  })

  it('is delivered once while the run streams: to its listener, or to its wait (#3891)', async () => {
    const words = new PushSource<string>()
    const heard: string[] = []
    const streaming = bodyTask(async () => {
      const listener = inbox.on((text) => void heard.push(text))
      await metadata.stream('words', words)
      await wait.for({ minutes: 1 })
      listener.off()
      await wait.for({ minutes: 1 })
      return [await inbox.wait().unwrap(), await inbox.take()]
    })
    await using t = await createTestEngine({ tasks: [streaming], clock: { mode: 'manual' } })
    const run = await t.engine.tasks.trigger('body', null)
    const sent = t.engine.streams.input<string>({ id: 'messages' })
    await t.clock.settle()
    words.push('Dear')
    await sent.send(run, 'a')
    words.push('Ada')
    await sent.send(run, 'b')
    await until(() => heard.length === 2)
    await t.clock.advance('1m')
    words.end()
    await sent.send(run, 'c')
    await t.clock.advance('1m')
    expect([await run.result(), heard]).toEqual([
      ['c', []],
      ['a', 'b'],
    ])
  })

  it('that is sent again ends no later turn than its own (#4234)', async () => {
    await using t = await createTestEngine({ tasks: [chat], clock: { mode: 'manual' } })
    const run = await t.engine.tasks.trigger('body', null)
    const sent = t.engine.streams.input<string>({ id: 'messages' })
    const status = async (): Promise<string> => (await t.engine.runs.retrieve(run)).status
    const sendFirst = (): Promise<void> => sent.send(run, 'a', { idempotencyKey: 'click' })
    await sendFirst()
    // The run waits for its second message, and is not given the first one again.
    await t.clock.advance('1m')
    await sendFirst()
    await t.clock.advance('1m')
    await turn()
    expect(await status()).toBe('WAITING')
    for (const text of ['b', 'c']) await sent.send(run, text)
    await sendFirst()
    await t.clock.advance('3m')
    expect(await run.result()).toEqual(['a', 'b', 'c'])
  })
})
