import { describe, expect, it } from 'vitest'
import { metadata, StreamInterruptedError, streams, task, type Token, wait } from 'waitpoint'
import { createClient } from 'waitpoint/client'
import { createHandler } from 'waitpoint/http'
import { SECRET } from '../../http/requests.ts'
import { rejection } from '../../support/body-task.ts'
import { collect, collectUntilError, sourceOf, watchers } from '../../support/streams.ts'
import { type ReachedEngine, reachedEngine } from '../reached-engine.ts'

const inbox = streams.input<string>({ id: 'messages' })

/** Answers each message with two words, in a source of its own. */
const chat = task({
  id: 'chat',
  run: async () => {
    for (;;) {
      const text = await inbox.wait().unwrap()
      if (text === 'bye') return
      await metadata.stream('reply', sourceOf(`${text}1`, `${text}2`))
    }
  },
})

describe('a stream that a client reads until its run has ended', () => {
  it('goes on with each source of it, and ends with the run', async () => {
    await using t = await reachedEngine({ tasks: [chat] })
    const run = await t.engine.trigger(chat)
    const states: string[] = []
    const read = t.client.streams.read<string>(run, 'reply', {
      attempts: 'last',
      until: 'run',
      onConnection: (state) => states.push(state),
    })
    const words = read[Symbol.asyncIterator]()
    const messages = t.client.streams.input<string>({ id: 'messages' })
    for (const text of ['a', 'b']) {
      const first = words.next()
      await messages.send(run, text)
      expect(await first).toMatchObject({ value: `${text}1` })
      expect(await words.next()).toMatchObject({ value: `${text}2` })
    }
    const last = words.next()
    await messages.send(run.id, 'bye')
    expect(await last).toMatchObject({ done: true })
    expect([states, watchers(t.engine)]).toEqual([['live'], 0])
  })

  it('ends without it at the first moment at which no source is open', async () => {
    await using t = await reachedEngine({ tasks: [chat] })
    const run = await t.engine.trigger(chat)
    await sendTo(t, run.id)
    const read = t.client.streams.read(run, 'reply')
    expect(await t.clock.until(collect(read), { within: '1m' })).toEqual(['a1', 'a2'])
  })

  it('goes on after a source that failed, which it tells at the end of the run', async () => {
    async function* failing(): AsyncGenerator<string> {
      yield 'half'
      throw new Error('the model is away')
    }
    const twice = task({
      id: 'twice',
      run: async () => {
        await metadata.stream('reply', failing())
        await wait.for({ seconds: 1 })
        await metadata.stream('reply', sourceOf('whole'))
      },
    })
    await using t = await reachedEngine({ tasks: [twice] })
    const run = await t.engine.trigger(twice)
    const read = t.client.streams.read(run, 'reply', { until: 'run' })
    const { items, error } = await t.clock.until(collectUntilError(read), { within: '1m' })
    expect([items, error]).toMatchObject([['half', 'whole'], { code: 'ERR_STREAM_FAILED' }])
  })

  it('says that chunks are written again, after sources that have ended too', async () => {
    const story = task({
      id: 'story',
      retry: { maxAttempts: 2, minTimeoutInMs: 10, randomize: false },
      run: async (_: null, { ctx }) => {
        await metadata.stream('reply', sourceOf('Once'))
        await inbox.wait().unwrap()
        if (ctx.attempt.number === 1) throw new Error('busy')
      },
    })
    await using t = await reachedEngine({ tasks: [story] })
    const run = await t.engine.trigger(story, null)
    const messages = t.client.streams.input({ id: 'messages' })
    const read = (): AsyncIterator<unknown> =>
      t.client.streams.read(run, 'reply', { attempts: 'last', until: 'run' })[Symbol.asyncIterator]()
    const first = read()
    expect((await first.next()).value).toBe('Once')
    const cut = rejection(first.next())
    await messages.send(run, 'go on')
    await t.clock.advance('1s')
    expect(await cut).toBeInstanceOf(StreamInterruptedError)
    const second = read()
    expect((await second.next()).value).toBe('Once')
    expect((await second.next()).done).toBe(true)
  })

  it('may be left at any time', async () => {
    await using t = await reachedEngine({ tasks: [chat] })
    const run = await t.engine.trigger(chat)
    await sendTo(t, run.id)
    const read = t.client.streams.read(run, 'reply', { until: 'run' })[Symbol.asyncIterator]()
    await read.next()
    await read.next()
    const pending = read.next()
    await t.clock.settle()
    await read.return?.()
    expect((await pending).done).toBe(true)
    await t.clock.settle()
    expect(watchers(t.engine)).toBe(0)
  })

  it('is refused for another end', async () => {
    await using t = await reachedEngine({ tasks: [chat] })
    const run = await t.engine.trigger(chat)
    const read = t.client.streams.read(run, 'reply', { until: 'noon' as 'run' })[Symbol.asyncIterator]()
    expect(await rejection(read.next())).toMatchObject({ name: 'RangeError' })
  })
})

async function sendTo({ client }: ReachedEngine, run: string): Promise<void> {
  await client.streams.input({ id: 'messages' }).send(run, 'a')
}

describe('a message that a client sends', () => {
  it('is accepted once under its key, and needs no key for a connection that breaks', async () => {
    let isCut = true
    await using t = await reachedEngine({ tasks: [chat] })
    const handler = createHandler(t.engine)
    const client = createClient({
      baseUrl: 'http://engine.test',
      accessToken: SECRET,
      clock: t.clock,
      fetch: async (request) => {
        const response = await handler(request)
        if (!isCut) return response
        isCut = false
        throw new TypeError('Load failed')
      },
    })
    const run = await t.engine.trigger(chat)
    const messages = client.streams.input<string>({ id: 'messages' })
    await t.clock.until(messages.send(run, 'a'), { within: '1m' })
    for (const _ of [1, 2]) await messages.send(run, 'b', { idempotencyKey: 'click' })
    await messages.send(run, 'bye')
    await run.result()
    expect(await collect(t.engine.streams.read(run, 'reply'))).toEqual(['a1', 'a2', 'b1', 'b2'])
    expect(await rejection(messages.send(run, 'late'))).toMatchObject({ code: 'ERR_RUN_ENDED' })
  })

  it('is refused before a request if it is no JSON, or its options are misspelt', async () => {
    await using t = await reachedEngine({ tasks: [chat] })
    const messages = t.client.streams.input({ id: 'messages' })
    expect(await rejection(messages.send('run_1', 1n))).toMatchObject({ code: 'ERR_NOT_SERIALIZABLE' })
    expect(await rejection(messages.send('run_1', 1, { key: 'a' } as object))).toBeInstanceOf(TypeError)
    expect(() => t.client.streams.input({ id: '' })).toThrow(TypeError)
  })
})

describe('what waits, as a client follows it', () => {
  it('is a list again whenever it is another one, by tag', async () => {
    await using t = await reachedEngine()
    const lists = t.client.wait.subscribeToTokens({ tags: 'refund', limit: 2 })[Symbol.asyncIterator]()
    const next = async (): Promise<string[]> => {
      const { value } = (await t.clock.until(lists.next(), { within: '1m' })) as { value: readonly Token[] }
      return value.map(({ question }) => question?.message ?? '')
    }
    expect(await next()).toEqual([])
    const token = await t.engine.wait.createToken({ message: 'One?', tags: 'refund' })
    expect(await next()).toEqual(['One?'])
    await t.engine.wait.createToken({ message: 'Other?', tags: 'other' })
    await t.engine.wait.completeToken(token)
    expect(await next()).toEqual([])
    await lists.return?.()
    await t.clock.settle()
    expect(watchers(t.engine)).toBe(0)
  })

  it('is refused to one who may read one token, and for a misspelt option', async () => {
    await using t = await reachedEngine()
    const { id } = await t.engine.wait.createToken()
    const client = createClient({
      baseUrl: 'http://engine.test',
      accessToken: await t.engine.createAccessToken({ read: { tokens: id } }),
      fetch: createHandler(t.engine),
      clock: t.clock,
    })
    const lists = client.wait.subscribeToTokens()[Symbol.asyncIterator]()
    expect(await rejection(lists.next())).toMatchObject({ status: 403 })
    expect(() => client.wait.subscribeToTokens({ tgas: 'a' } as object)).toThrow(TypeError)
  })
})
