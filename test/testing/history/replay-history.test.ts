import superjson from 'superjson'
import { describe, expect, it } from 'vitest'
import { type AnyTask, type Codec, once, streams, task, wait } from 'waitpoint'
import { createTestEngine, replayHistory, type RunHistory, type TestEngine } from 'waitpoint/testing'
import { readHistory } from '../../../src/testing/history/reading.ts'
import { type Redact, Redaction } from '../../../src/testing/history/redaction.ts'
import { projectStorage } from '../../support/abandon.ts'

interface Lived {
  readonly tasks: readonly AnyTask[]
  readonly payload?: unknown
  readonly redact?: Redact
  readonly codec?: Codec
  /** The outside world, until the run is exported. */
  readonly act?: (t: TestEngine, runId: string) => Promise<unknown>
}

/** The history of a run of the first of the tasks. */
async function lived({ tasks, payload, redact, act, ...options }: Lived): Promise<RunHistory> {
  const storage = projectStorage()
  await using t = await createTestEngine({
    tasks,
    storage,
    fakeGlobals: true,
    clock: { onUnanswered: 'timeout' },
    ...options,
  })
  const { id } = await t.engine.tasks.trigger(tasks[0]?.id ?? '', payload)
  if (act === undefined) await t.engine.runs.poll(id)
  else await act(t, id)
  const { isFailed } = await t.engine.runs.retrieve(id)
  if (isFailed) for (const one of tasks) t.calls(one)
  return await readHistory(storage, id, { now: t.clock.now(), redaction: new Redaction(redact) })
}

async function* wordsOf(...words: readonly string[]): AsyncGenerator<string> {
  yield* words
}

const ask = async (tag: string): Promise<string> =>
  wait.forToken<string>(await wait.createToken({ timeout: '7d', tags: [tag] })).unwrap()

const review = task({
  id: 'review',
  run: async ({ doc }: { doc: string }) => {
    const editor = await once('editor', () => `editor of ${doc}`)
    await wait.for({ hours: 1 })
    const answer = await ask('legal')
    return `${editor}: ${answer} at ${new Date().toISOString()}`
  },
})

const answered = (t: TestEngine): Promise<unknown> => t.complete({ tag: 'legal' }, 'fine', { at: '+5h' })

describe('a run that is replayed', () => {
  it('ends as it did, at the instants of its history, and without its effects', async () => {
    const history = await lived({ tasks: [review], payload: { doc: 'd1' }, act: answered })
    const replayed = await replayHistory(history, [review])
    expect(replayed).toEqual({
      end: { status: 'COMPLETED', output: 'editor of d1: fine at 2000-01-01T05:00:00.000Z' },
      departure: undefined,
    })
    expect(history.run.output).toBe(replayed.end?.output)
  })

  it('times out as it did', async () => {
    const history = await lived({
      tasks: [review],
      payload: { doc: 'd1' },
      act: (t, id) => t.clock.until(t.engine.runs.poll(id)),
    })
    const { end } = await replayHistory(history, { review, another: 'thing' })
    expect(end).toMatchObject({ status: 'FAILED', error: { name: 'WaitpointTimeoutError' } })
  })

  it('gets its values as the codec reads them', async () => {
    const next = task({ id: 'next', run: (at: Date) => new Date(at.getTime() + 1) })
    const dated = task({
      id: 'dated',
      run: async (at: Date) => {
        const seen = await once('seen', () => new Map([['at', at]]))
        const token = await wait.createToken({ timeout: '7d', tags: ['date'] })
        const answer = await wait.forToken<Date>(token).unwrap()
        const child = await next.triggerAndWait(answer).unwrap()
        return [at, seen.get('at'), answer, child].map((date) => date?.getTime())
      },
    })
    const history = await lived({
      tasks: [dated, next],
      payload: new Date(1),
      codec: superjson,
      act: (t) => t.complete({ tag: 'date' }, new Date(2), { at: '+1h' }),
    })
    const { end, departure } = await replayHistory(history, [dated], { codec: superjson })
    expect(departure).toBeUndefined()
    expect(end).toEqual({ status: 'COMPLETED', output: [1, 1, 2, 3] })
    expect((await replayHistory(history, [dated])).end).not.toEqual(end)
  })

  it('gets the ends of its children, whose code is not executed', async () => {
    let calls = 0
    const double = task({ id: 'double', run: async (of: number) => ((calls += 1), of * 2) })
    const refuse = task({
      id: 'refuse',
      run: async () => {
        throw new RangeError('not today')
      },
    })
    const parent = task({
      id: 'parent',
      run: async () => {
        const doubled = await double.triggerAndWait(21, { name: 'first' }).unwrap()
        const { runs } = await double.batchTriggerAndWait([{ payload: 1 }, { payload: 2 }])
        const refused = await refuse.triggerAndWait(undefined)
        return [doubled, runs.map((run) => run.ok && run.output), refused.ok ? '' : String(refused.error)]
      },
    })
    const tasks = [parent, double, refuse]
    const history = await lived({ tasks })
    const before = calls
    const { end, departure } = await replayHistory(history, [parent])
    expect(departure).toBeUndefined()
    expect(end).toEqual({ status: 'COMPLETED', output: history.run.output })
    expect(history.run.output).toMatchObject([42, [2, 4], expect.stringContaining('not today') as string])
    expect(calls).toBe(before)
  })

  it('gets the ends of debounced children, those of other parents too', async () => {
    const executed: number[] = []
    const index = task({ id: 'index', run: async (n: number) => `${n} is ${executed.push(n)}` })
    const debounce = { key: 'k', delay: '5s', mode: 'trailing' } as const
    const parent = task({
      id: 'parent',
      run: async (_: unknown, { ctx }) => {
        const met = await index.triggerAndWait(1, { debounce, name: 'met' }).unwrap()
        const both = await Promise.all([2, 3].map((n) => index.triggerAndWait(n, { debounce }).unwrap()))
        if (ctx.attempt.number === 1) throw new Error('once more')
        return [met, ...both]
      },
      retry: { maxAttempts: 2, minTimeoutInMs: 60_000, randomize: false },
    })
    const starter = task({
      id: 'starter',
      run: async () => (await index.trigger(0, { debounce })).id,
    })
    const history = await lived({
      tasks: [parent, index, starter],
      redact: (value, { of }) => (of === 'answer' ? 'secret' : value),
      act: async (t, id) => {
        await t.engine.runs.poll(await t.engine.trigger(starter, undefined))
        await t.engine.runs.poll(id)
      },
    })
    const before = [...executed]
    const { end, departure } = await replayHistory(history, [parent])
    expect(departure).toBeUndefined()
    expect(end).toEqual({ status: 'COMPLETED', output: history.run.output })
    expect(history.run.output).toEqual([
      expect.stringContaining(' is 3'),
      expect.stringContaining(' is 4'),
      expect.stringContaining(' is 4'),
    ])
    expect(executed).toEqual(before)
  })

  it('departs where code waits for a debounced child that it did not wait for, or for none any more', async () => {
    const index = task({ id: 'index', run: async (n: number) => n })
    const parentOf = (keys: readonly string[]): AnyTask =>
      task({
        id: 'parent',
        run: async () => {
          const outputs: number[] = []
          for (const key of keys)
            outputs.push(await index.triggerAndWait(7, { debounce: { key, delay: '5s' } }).unwrap())
          return outputs
        },
      })
    const history = await lived({ tasks: [parentOf(['a', 'b']), index] })
    expect((await replayHistory(history, [parentOf(['a', 'c'])])).departure).toMatchObject({
      reason: 'new-question',
      asked: { call: 'triggerAndWait', taskId: 'index' },
      expected: { call: 'triggerAndWait', taskId: 'index' },
    })
    expect((await replayHistory(history, [parentOf(['a'])])).departure).toMatchObject({
      reason: 'not-asked',
      expected: { call: 'triggerAndWait', taskId: 'index' },
    })
  })

  it('fails and is retried as it was: also by an effect that threw', async () => {
    const charge = task({
      id: 'charge',
      retry: { maxAttempts: 3, minTimeoutInMs: 60_000, maxTimeoutInMs: 60_000 },
      run: async (_payload: unknown, { ctx }) => {
        await once(`try ${ctx.attempt.number}`, () => 'done')
        const receipt = await once('charge', (): string => {
          if (ctx.attempt.number < 3) throw Object.assign(new TypeError('declined'), { code: 'E_CARD' })
          return 'receipt'
        })
        return `${receipt} in attempt ${ctx.attempt.number} at ${new Date().toISOString()}`
      },
    })
    const history = await lived({ tasks: [charge] })
    expect(history.run.attempts).toHaveLength(2)
    const { end, departure } = await replayHistory(history, [charge])
    expect(departure).toBeUndefined()
    expect(end).toEqual({ status: 'COMPLETED', output: history.run.output })
  })

  it('goes on beyond an effect that threw an error which its code has caught', async () => {
    const careful = task({
      id: 'careful',
      run: async () => {
        const mailed = await once('mail', () => Promise.reject(new Error('no server'))).catch(
          () => 'not mailed',
        )
        return [mailed, await ask('legal')]
      },
    })
    const history = await lived({ tasks: [careful], act: answered })
    const { end, departure } = await replayHistory(history, [careful])
    expect({ end, departure }).toEqual({
      end: { status: 'COMPLETED', output: ['not mailed', 'fine'] },
      departure: undefined,
    })
  })

  it('that has not ended stands where it stood', async () => {
    const history = await lived({
      tasks: [review],
      payload: { doc: 'd1' },
      act: async (t, id) => {
        await t.clock.advance('2h')
        expect((await t.engine.runs.retrieve(id)).isWaiting).toBe(true)
      },
    })
    const { end, departure } = await replayHistory(history, [review])
    expect(departure).toBeUndefined()
    expect(end).toEqual({ status: 'WAITING', waitsFor: ['wait.createToken, tags legal'] })
  })

  it('that was canceled waits for what it waited for', async () => {
    const history = await lived({
      tasks: [review],
      payload: { doc: 'd1' },
      act: async (t, id) => {
        await t.clock.advance('2h')
        await t.engine.runs.cancel(id)
      },
    })
    expect((await replayHistory(history, [review])).end?.status).toBe('CANCELED')
  })

  it('gets the answer of a token that another has made and that its payload names', async () => {
    const waits = task({ id: 'waits', run: (token: string) => wait.forToken<string>(token).unwrap() })
    const storage = projectStorage()
    await using t = await createTestEngine({ tasks: [waits], storage })
    const token = await t.engine.wait.createToken({ timeout: '7d' })
    const run = await t.engine.trigger(waits, token.id)
    await t.clock.advance('2h')
    await t.engine.wait.completeToken(token, 'from elsewhere')
    await run.result()
    const read = { now: t.clock.now(), redaction: new Redaction(undefined) }
    const { end } = await replayHistory(await readHistory(storage, run.id, read), [waits])
    expect(end).toEqual({ status: 'COMPLETED', output: 'from elsewhere' })
  })

  it('writes to the streams of other runs, which its storage does not have', async () => {
    const told = task({
      id: 'told',
      run: async (to: string) => {
        await streams.append('log', 'begun', { target: to })
        const words: string[] = []
        const { stream } = streams.pipe('words', wordsOf('a', 'b'), { target: to })
        for await (const word of stream) words.push(word)
        return [...words, await ask('legal')]
      },
    })
    const listens = task({ id: 'listens', run: () => ask('end') })
    const history = await (async () => {
      const storage = projectStorage()
      await using t = await createTestEngine({ tasks: [told, listens], storage })
      const other = await t.engine.trigger(listens, undefined)
      const run = await t.engine.trigger(told, other.id)
      await t.complete({ tag: 'legal' }, 'fine')
      await run.result()
      await t.complete({ tag: 'end' }, 'over')
      await other.result()
      return await readHistory(storage, run.id, { now: t.clock.now(), redaction: new Redaction(undefined) })
    })()
    const { end, departure } = await replayHistory(history, [told])
    expect(departure).toBeUndefined()
    expect(end).toEqual({ status: 'COMPLETED', output: ['a', 'b', 'fine'] })
  })

  it('finds waits by the keys of users', async () => {
    const keyed = task({
      id: 'keyed',
      run: async () => {
        await wait.for({ days: 1, idempotencyKey: 'a day' })
        const token = await wait.createToken({
          tags: ['legal'],
          idempotencyKey: 'legal of d1',
          timeout: '7d',
        })
        return wait.forToken<string>(token).unwrap()
      },
    })
    const history = await lived({
      tasks: [keyed],
      act: (t) => t.complete({ tag: 'legal' }, 'fine', { at: '+5d' }),
    })
    const { end, departure } = await replayHistory(history, [keyed])
    expect({ end, departure }).toEqual({ end: { status: 'COMPLETED', output: 'fine' }, departure: undefined })
  })
})

describe('changed code', () => {
  const changed = (run: (payload: { doc: string }) => Promise<unknown>): readonly AnyTask[] => [
    task({ id: 'review', run }),
  ]
  const history = (): Promise<RunHistory> => lived({ tasks: [review], payload: { doc: 'd1' }, act: answered })

  it('that asks something else departs there, which is said in words', async () => {
    const code = changed(async () => {
      await once('editor', () => '')
      await wait.for({ hours: 1 })
      return ask('manager')
    })
    const { end, departure } = await replayHistory(await history(), code)
    expect(end).toBeUndefined()
    expect(departure).toMatchObject({
      reason: 'new-question',
      asked: { call: 'wait.createToken', tags: ['manager'] },
      expected: { call: 'wait.createToken', tags: ['legal'] },
    })
    expect(departure?.message).toMatch(
      /^Run "run_\w+" of task "review" departs from its history: it asks what the history does not have: wait\.createToken, tags manager; the history goes on with wait\.createToken, tags legal, asked at 2000-01-01T01:00:00\.000Z$/,
    )
  })

  it('that begins an effect without a result departs, unless the effect is given', async () => {
    const code = changed(async ({ doc }) => {
      const mail = await once('mail', () => 'must not happen')
      return `${mail} about ${doc}`
    })
    const recorded = await history()
    expect((await replayHistory(recorded, code)).departure).toMatchObject({
      reason: 'effect',
      asked: { call: 'once', name: 'mail' },
    })
    const { end, departure } = await replayHistory(recorded, code, { effects: { mail: () => 'a mail' } })
    expect(end).toEqual({ status: 'COMPLETED', output: 'a mail about d1' })
    // Another end is explained by what was not asked.
    expect(departure).toMatchObject({ reason: 'not-asked', expected: { call: 'wait.for' } })
  })

  it('that only computes something else has another end, and departs nowhere', async () => {
    const code = changed(async () => {
      await once('editor', () => '')
      await wait.for({ hours: 1 })
      return (await ask('legal')).length
    })
    expect(await replayHistory(await history(), code)).toEqual({
      end: { status: 'COMPLETED', output: 4 },
      departure: undefined,
    })
  })

  it('that goes beyond a failure asks what the history does not have', async () => {
    const broken = task({
      id: 'review',
      run: async () => {
        await ask('legal')
        throw new TypeError('the bug')
      },
    })
    const failed = await lived({ tasks: [broken], act: answered })
    expect((await replayHistory(failed, [broken])).end).toEqual({
      status: 'FAILED',
      error: { name: 'TypeError', message: 'the bug' },
    })
    const fixed = changed(async () => [await ask('legal'), await ask('manager')])
    expect((await replayHistory(failed, fixed)).departure?.reason).toBe('new-question')
  })

  it('that awaits something else for ever is named', async () => {
    const code = changed(async () => new Promise(() => undefined))
    const { departure } = await replayHistory(await history(), code, { patienceMs: 50 })
    expect(departure?.reason).toBe('unreached')
  })
})

describe('redaction', () => {
  const invite = task({
    id: 'invite',
    run: async ({ mail }: { mail: string }) => {
      const sent = await once(`mail to ${mail}`, () => ({ to: mail }))
      const token = await wait.createToken({ timeout: '7d', tags: ['legal', mail] })
      const answer = await wait.forToken<{ by: string }>(token).unwrap()
      throw new Error(`${answer.by} refused what was sent to ${sent.to}`)
    },
  })
  const redact: Redact = (value) => JSON.parse(JSON.stringify(value).replaceAll(/\w+@\w+/g, 'x@x')) as unknown

  it('leaves no secret in the history, and the run ends as redacted', async () => {
    const history = await lived({
      tasks: [invite],
      payload: { mail: 'ada@home' },
      redact,
      act: (t) => t.complete({ tag: 'legal' }, { by: 'grace@work' }),
    })
    expect(JSON.stringify(history)).not.toMatch(/ada|grace/)
    const { end, departure } = await replayHistory(history, [invite])
    expect(departure).toBeUndefined()
    expect(end).toEqual({
      status: 'FAILED',
      error: { name: 'Error', message: 'x@x refused what was sent to x@x' },
    })
  })
})

describe('wrong arguments', () => {
  it('are refused before anything happens', async () => {
    const history = await lived({ tasks: [review], payload: { doc: 'd1' }, act: answered })
    await expect(replayHistory({ ...history, format: 2 as 1 }, [review])).rejects.toThrow(
      /export the run again/,
    )
    await expect(replayHistory(history, [])).rejects.toThrow(/"review" is not among the tasks/)
    await expect(replayHistory(history, [review], { patienceMs: 0 })).rejects.toThrow(RangeError)
    await expect(replayHistory(history, [review], { effects: { a: 1 as never } })).rejects.toThrow(TypeError)
  })
})
