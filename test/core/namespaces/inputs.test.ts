import { describe, expect, it } from 'vitest'
import { createEngine, once, streams, wait } from 'waitpoint'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { projectStorage } from '../../support/abandon.ts'
import { bodyTask, rejection } from '../../support/body-task.ts'
import { turn, until } from '../../support/turn.ts'

const inbox = streams.input<string>({ id: 'messages' })

function engineWith(body: Parameters<typeof bodyTask>[0]): Promise<TestEngine> {
  return createTestEngine({ tasks: [bodyTask(body)], clock: { mode: 'manual' } })
}

async function untilAnswered(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await turn()
}

describe('streams.input', () => {
  it('gives a run its messages in the order in which they were sent, also those sent before it listens', async () => {
    await using t = await engineWith(async () => {
      await wait.for({ seconds: 60 })
      const texts: string[] = []
      for (;;) {
        const next = await inbox.wait().unwrap()
        texts.push(next)
        if (next === 'end') return texts
      }
    })
    const run = await t.engine.tasks.trigger('body', null)
    const sent = t.engine.streams.input<string>({ id: 'messages' })
    await Promise.all(['a', 'b', 'c'].map((text) => sent.send(run, text)))
    await t.clock.advance('1m')
    await sent.send(run, 'd')
    await sent.send(run, 'end')
    expect(await run.result()).toEqual(['a', 'b', 'c', 'd', 'end'])
  })

  it('parks the run in wait, and tells the reader who sent the message', async () => {
    await using t = await engineWith(async () => inbox.wait())
    const run = await t.engine.tasks.trigger('body', null)
    await untilAnswered(async () => (await t.engine.runs.retrieve(run.id)).status === 'WAITING')
    await until(() => t.engine.stats().executing === 0)
    await t.engine.streams
      .input<string>({ id: 'messages' })
      .send(run, 'hello', { by: { id: 'ann', name: 'Ann' } })
    expect(await run.result()).toEqual({
      ok: true,
      output: 'hello',
      by: { id: 'ann', name: 'Ann', via: 'call' },
    })
  })

  it('is silent for as long as the timeout says, and gives a later message to the next wait', async () => {
    await using t = await engineWith(async () => {
      const first = await inbox.wait({ timeout: '1h' })
      const second = await inbox.wait({ timeout: '1h' })
      return [first.ok, second.ok && second.output]
    })
    const run = await t.engine.tasks.trigger('body', null)
    await t.clock.advance('1h')
    await t.engine.streams.input<string>({ id: 'messages' }).send(run, 'late')
    expect(await run.result()).toEqual([false, 'late'])
  })

  it('takes all that is there, in order, and peeks at the next', async () => {
    await using t = await engineWith(async () => {
      await wait.for({ seconds: 1 })
      const seen = await inbox.peek()
      const two = await inbox.take({ max: 2 })
      const rest = await inbox.take()
      return { seen, two, rest, none: await inbox.take(), nothing: (await inbox.peek()) ?? 'nothing' }
    })
    const run = await t.engine.tasks.trigger('body', null)
    const sent = t.engine.streams.input<string>({ id: 'messages' })
    for (const text of ['a', 'b', 'c', 'd']) await sent.send(run, text)
    await t.clock.advance('1s')
    expect(await run.result()).toEqual({
      seen: 'a',
      two: ['a', 'b'],
      rest: ['c', 'd'],
      none: [],
      nothing: 'nothing',
    })
  })

  it('accepts a message with a key once', async () => {
    await using t = await engineWith(async () => {
      await wait.for({ seconds: 1 })
      return inbox.take()
    })
    const run = await t.engine.tasks.trigger('body', null)
    const sent = t.engine.streams.input<string>({ id: 'messages' })
    await sent.send(run, 'a', { idempotencyKey: 'k' })
    await sent.send(run, 'b')
    await Promise.all([1, 2, 3].map(() => sent.send(run, 'a', { idempotencyKey: 'k' })))
    await t.clock.advance('1s')
    expect(await run.result()).toEqual(['a', 'b'])
    // It may be sent again, as the answer was lost. Another one is refused.
    await sent.send(run, 'a', { idempotencyKey: 'k' })
    expect(await rejection(sent.send(run, 'a', { idempotencyKey: 'l' }))).toMatchObject({
      code: 'ERR_RUN_ENDED',
    })
  })

  it('refuses a message to a run that is over, or that there is not', async () => {
    await using t = await engineWith(async () => Promise.resolve('done'))
    const run = await t.engine.tasks.trigger('body', null)
    await run.result()
    const sent = t.engine.streams.input<string>({ id: 'messages' })
    expect(await rejection(sent.send(run, 'a'))).toMatchObject({ code: 'ERR_RUN_ENDED' })
    expect(await rejection(sent.send('run_unknown', 'a'))).toMatchObject({ code: 'ERR_RUN_NOT_FOUND' })
  })

  it('reads from the first message again after an error', async () => {
    let attempts = 0
    await using t = await createTestEngine({
      tasks: [
        bodyTask(
          async () => {
            attempts += 1
            const first = await inbox.wait({ timeout: '1d' }).unwrap()
            const paid = await once('pay', () => `paid ${first}`)
            const second = await inbox.wait({ timeout: '1d' }).unwrap()
            if (attempts === 1) throw new Error('lost')
            return [first, paid, second, await inbox.wait({ timeout: '1d' }).unwrap()]
          },
          { retry: { maxAttempts: 2, minTimeoutInMs: 1_000, maxTimeoutInMs: 1_000, randomize: false } },
        ),
      ],
      clock: { mode: 'manual' },
    })
    const run = await t.engine.tasks.trigger('body', null)
    const sent = t.engine.streams.input<string>({ id: 'messages' })
    await sent.send(run, 'a')
    await sent.send(run, 'b')
    await t.clock.advance('1m')
    await sent.send(run, 'c')
    expect(await run.result()).toEqual(['a', 'paid a', 'b', 'c'])
    expect(attempts).toBe(2)
  })

  it('leaves a wait that an error has cut, and its deadline, to the next attempt', async () => {
    let attempts = 0
    await using t = await createTestEngine({
      tasks: [
        bodyTask(
          async () => {
            attempts += 1
            const waited = inbox.wait({ timeout: attempts === 1 ? '1m' : '1d' })
            if (attempts === 2) return waited.unwrap()
            waited.catch(() => undefined)
            await wait.for({ seconds: 1 })
            throw new Error('lost')
          },
          { retry: { maxAttempts: 2, minTimeoutInMs: 1_000, maxTimeoutInMs: 1_000, randomize: false } },
        ),
      ],
      clock: { mode: 'manual' },
    })
    const run = await t.engine.tasks.trigger('body', null)
    await t.clock.advance('10m')
    await t.engine.streams.input<string>({ id: 'messages' }).send(run, 'a')
    expect(await run.result()).toBe('a')
  })

  it('passes over a wait that was dropped: its message is for the next', async () => {
    await using t = await engineWith(async () => {
      const dropped = new AbortController()
      const first = inbox.wait({ signal: dropped.signal }).then(
        () => 'got',
        (error: unknown) => (error as Error).message,
      )
      await wait.for({ seconds: 1 })
      dropped.abort(new Error('no more'))
      return [await first, await inbox.wait().unwrap()]
    })
    const run = await t.engine.tasks.trigger('body', null)
    await t.clock.advance('1s')
    await untilAnswered(async () => (await t.engine.runs.retrieve(run.id)).status === 'WAITING')
    await t.engine.streams.input<string>({ id: 'messages' }).send(run, 'a')
    expect(await run.result()).toEqual(['no more', 'a'])
  })

  it('waits in once with its slot, for as long as timeoutMs says', async () => {
    const statuses: string[] = []
    await using t = await engineWith(async () => {
      const silent = await inbox.once({ timeoutMs: 60_000 })
      return [silent.ok, await inbox.once().unwrap()]
    })
    const run = await t.engine.tasks.trigger('body', null)
    await t.clock.advance('30s')
    statuses.push((await t.engine.runs.retrieve(run.id)).status)
    await t.clock.advance('30s')
    statuses.push((await t.engine.runs.retrieve(run.id)).status)
    await t.engine.streams.input<string>({ id: 'messages' }).send(run, 'a')
    expect(await run.result()).toEqual([false, 'a'])
    expect(statuses).toEqual(['EXECUTING', 'EXECUTING'])
  })

  it('calls a listener with each message, one after the other, until it is off', async () => {
    const handled: string[] = []
    await using t = await engineWith(async () => {
      const listener = inbox.on(async (text) => {
        await Promise.resolve()
        handled.push(text)
      })
      await wait.for({ minutes: 1 })
      listener.off()
      await wait.for({ minutes: 1 })
      return inbox.take()
    })
    const run = await t.engine.tasks.trigger('body', null)
    const sent = t.engine.streams.input<string>({ id: 'messages' })
    await untilAnswered(async () => (await t.engine.runs.retrieve(run.id)).status === 'WAITING')
    for (const text of ['a', 'b', 'c']) await sent.send(run, text)
    await until(() => handled.length === 3)
    await t.clock.advance('1m')
    await sent.send(run, 'd')
    await t.clock.advance('1m')
    expect(await run.result()).toEqual(['d'])
    expect(handled).toEqual(['a', 'b', 'c'])
  })

  it('ends a listener with its run, which need not switch it off', async () => {
    const handled: string[] = []
    await using t = await engineWith(async () => {
      inbox.on((text) => void handled.push(text))
      await wait.for({ minutes: 1 })
      return 'done'
    })
    const run = await t.engine.tasks.trigger('body', null)
    await t.engine.streams.input<string>({ id: 'messages' }).send(run, 'a')
    await t.clock.advance('1m')
    expect([await run.result(), handled]).toEqual(['done', ['a']])
  })

  it('refuses more than a run may leave unread, and loses nothing', async () => {
    await using engine = createEngine({
      tasks: [
        bodyTask(async () => {
          await wait.forToken(await wait.createToken({ tags: ['go'] }))
          const first = await inbox.take({ max: 2 })
          await wait.forToken(await wait.createToken({ tags: ['go on'] }))
          return [...first, ...(await inbox.take())]
        }),
      ],
      streams: { unreadInputs: 2 },
      storage: projectStorage(),
    })
    const run = await engine.tasks.trigger('body', null)
    const sent = engine.streams.input<string>({ id: 'messages' })
    await sent.send(run, 'a')
    await sent.send(run, 'b')
    expect(await rejection(sent.send(run, 'c'))).toMatchObject({ code: 'ERR_INBOX_FULL' })
    const complete = async (tags: string): Promise<void> => {
      await untilAnswered(async () => (await engine.wait.listTokens({ tags })).data.length === 1)
      const [token] = (await engine.wait.listTokens({ tags })).data
      if (token !== undefined) await engine.wait.completeToken(token)
    }
    await complete('go')
    await untilAnswered(async () => (await engine.wait.listTokens({ tags: 'go on' })).data.length === 1)
    await sent.send(run, 'c')
    await complete('go on')
    expect(await run.result()).toEqual(['a', 'b', 'c'])
  })

  it('refuses a message of more than 1 MB, and one that its schema refuses', async () => {
    await using t = await engineWith(async () => inbox.wait())
    const run = await t.engine.tasks.trigger('body', null)
    const sent = t.engine.streams.input<string>({ id: 'messages' })
    expect(await rejection(sent.send(run, 'x'.repeat(1_048_576)))).toBeInstanceOf(RangeError)
    const validate = (value: unknown): { value: string } | { issues: { message: string }[] } =>
      typeof value === 'string' ? { value } : { issues: [{ message: 'must be a text' }] }
    const schema = { '~standard': { version: 1, vendor: 'test', validate } } as const
    const checked = t.engine.streams.input<string>({ id: 'messages', schema })
    expect(await rejection(checked.send(run, 3 as never))).toMatchObject({ code: 'ERR_PAYLOAD_INVALID' })
  })

  it('is empty for a replay: the messages of a run are its own', async () => {
    await using t = await engineWith(async () => {
      await wait.for({ minutes: 1 })
      return inbox.take()
    })
    const run = await t.engine.tasks.trigger('body', null)
    const sent = t.engine.streams.input<string>({ id: 'messages' })
    await sent.send(run, 'a', { idempotencyKey: 'k' })
    const replay = await t.engine.runs.replay(run)
    await t.clock.advance('30s')
    await sent.send(replay, 'b', { idempotencyKey: 'k' })
    await t.clock.advance('1m')
    const outputs = [run, replay].map(async ({ id }) => (await t.engine.runs.poll(id)).output)
    expect(await Promise.all(outputs)).toEqual([['a'], ['b']])
  })

  it('is no token: no list of these has a message, and no completion is one', async () => {
    await using t = await engineWith(async () => inbox.wait().unwrap())
    const run = await t.engine.tasks.trigger('body', null)
    await untilAnswered(async () => (await t.engine.runs.retrieve(run.id)).status === 'WAITING')
    expect((await t.engine.wait.listTokens()).data).toEqual([])
    await t.engine.streams.input<string>({ id: 'messages' }).send(run, 'a')
    expect(await run.result()).toBe('a')
  })
})
