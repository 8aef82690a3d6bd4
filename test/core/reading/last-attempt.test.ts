import { describe, expect, it } from 'vitest'
import { once, streams } from 'waitpoint'
import { createHandler } from 'waitpoint/http'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { projectStorage } from '../../support/abandon.ts'
import { bodyTask } from '../../support/body-task.ts'
import { collectUntilError, PushSource, reportedErrors, sourceOf } from '../../support/streams.ts'
import { turn, until } from '../../support/turn.ts'
import { SECRET, stillEngine } from '../../http/requests.ts'
import { EventReader, get } from '../../http/server-events.ts'

const retry = { maxAttempts: 2, minTimeoutInMs: 1_000, randomize: false }
const RETRY_MS = 1_000
const INTERRUPTED = { code: 'ERR_STREAM_INTERRUPTED', key: 'k' }

function last(t: TestEngine, run: { readonly id: string }, key = 'k'): ReturnType<typeof collectUntilError> {
  return collectUntilError(t.engine.streams.read(run, key, { attempts: 'last' }))
}

/** Writes `kept` in an effect, `lost` beside it and the end of it in each attempt, and fails in the first. */
function attempts() {
  return bodyTask(
    async ({ ctx }) => {
      const { number } = ctx.attempt
      await once('kept', async () => {
        await streams.append('k', 'kept')
        await streams.append('k', 'kept!')
      })
      await streams.append('k', `${number}a`)
      if (number === 1) throw new Error('again')
      await streams.append('k', `${number}b`)
    },
    { retry },
  )
}

describe('reading the last attempt', () => {
  it('leaves out what a later attempt has written again, and keeps what recorded effects have written', async () => {
    const body = attempts()
    await using t = await createTestEngine({ tasks: [body], storage: projectStorage() })
    const run = await t.engine.trigger(body, null)
    await run.result()
    expect(await last(t, run)).toEqual({ items: ['kept', 'kept!', '2a', '2b'] })
    const from = { attempts: 'last', startIndex: 1 } as const
    expect(await collectUntilError(t.engine.streams.read(run, 'k', from))).toEqual({
      items: ['kept!', '2a', '2b'],
    })
    const all = await collectUntilError(t.engine.streams.read(run, 'k', { attempts: 'all' }))
    expect(all).toMatchObject({ items: ['kept', 'kept!', '1a'], error: { ...INTERRUPTED, next: 3 } })
  })

  it('tells a reader whose chunks are replaced, which reads on from the start, also before the next attempt', async () => {
    const body = attempts()
    await using t = await stillEngine({ tasks: [body], storage: projectStorage() })
    const run = await t.engine.trigger(body, null)
    expect(await last(t, run)).toMatchObject({ items: ['kept', 'kept!', '1a'], error: INTERRUPTED })
    const again = last(t, run)
    const early = t.engine.streams.read(run, 'k', { attempts: 'last' })[Symbol.asyncIterator]()
    expect([await early.next(), await early.next()]).toMatchObject([{ value: 'kept' }, { value: 'kept!' }])
    await t.clock.advance(RETRY_MS)
    expect(await early.next()).toMatchObject({ value: '2a' })
    await early.return?.()
    expect(await again).toEqual({ items: ['kept', 'kept!', '2a', '2b'] })
  })

  it('shows what there is of a run that ended in the middle, and says so', async () => {
    const body = bodyTask(
      async ({ ctx }) => {
        await streams.append('k', ctx.attempt.number)
        throw new Error('again')
      },
      { retry },
    )
    await using t = await createTestEngine({ tasks: [body], storage: projectStorage() })
    const run = await t.engine.trigger(body, null)
    await run.outcome()
    expect(await last(t, run)).toMatchObject({ items: [2], error: { code: 'ERR_STREAM_FAILED' } })
  })

  it('reads a stream to its end as any reader does, if there is one attempt', async () => {
    const body = bodyTask(({ metadata }) =>
      metadata.stream('constructor', sourceOf('a', 'b')).then(() => undefined),
    )
    await using t = await createTestEngine({ tasks: [body], storage: projectStorage() })
    const run = await t.engine.trigger(body, null)
    expect(await last(t, run, 'constructor')).toEqual({ items: ['a', 'b'] })
    expect(await last(t, run, 'never')).toEqual({ items: [] })
  })

  it('refuses other attempts', async () => {
    await using t = await createTestEngine()
    const attempts = 'first' as 'last'
    expect(() => t.engine.streams.read('run_1', 'k', { attempts })).toThrow('Cannot use attempts "first"')
    const handler = createHandler(t.engine)
    expect((await handler(get('/realtime/v1/streams/run_1/k?attempts=first'))).status).toBe(401)
  })
})

describe('an effect that writes to a stream', () => {
  it('is recorded when its sources have ended', async () => {
    const source = new PushSource<string>()
    let isRecorded = false
    const body = bodyTask(async () => {
      await once('effect', () => void streams.pipe('k', source))
      isRecorded = true
    })
    await using t = await stillEngine({ tasks: [body], storage: projectStorage() })
    const run = await t.engine.trigger(body, null)
    source.push('a')
    await until(() => source.pulls > 1)
    await turn()
    expect(isRecorded).toBe(false)
    source.end()
    await run.result()
    expect(isRecorded).toBe(true)
  })

  it('is repeated if a source of it was cut off, though it did not look', async () => {
    const sources = [new PushSource<string>(), sourceOf('b')]
    const body = bodyTask(
      async ({ ctx }) => {
        const effect = once(
          'effect',
          () => void streams.pipe('k', sources[ctx.attempt.number - 1] ?? sourceOf()),
        )
        if (ctx.attempt.number === 2) return effect
        effect.catch(() => undefined)
        await turn()
        throw new Error('again')
      },
      { retry },
    )
    await using t = await createTestEngine({ tasks: [body], storage: projectStorage() })
    const run = await t.engine.trigger(body, null)
    await run.result()
    expect(await last(t, run)).toEqual({ items: ['b'] })
  })

  it('is recorded if its source has failed, or was stopped by its own signal', async () => {
    const stop = new AbortController()
    const endless = new PushSource<string>()
    endless.push('a')
    const failing = new PushSource<string>()
    failing.push('b')
    failing.fail(new Error('the model is away'))
    let effects = 0
    const body = bodyTask(
      async ({ ctx }) => {
        await once('stopped', async () => {
          effects += 1
          for await (const _ of streams.pipe('k', endless, { signal: stop.signal }).stream) {
            stop.abort(new Error('enough'))
            break
          }
        })
        await once('failed', () => {
          effects += 1
          void streams.pipe('other', failing)
        })
        if (ctx.attempt.number === 1) throw new Error('again')
      },
      { retry },
    )
    await using t = await createTestEngine({ tasks: [body], storage: projectStorage() })
    const errors = reportedErrors(t.engine)
    const run = await t.engine.trigger(body, null)
    await run.result()
    expect(effects).toBe(2)
    expect(String(errors)).toContain('the model is away')
    expect(await last(t, run)).toEqual({ items: ['a'] })
  })

  it('may handle a chunk that is refused', async () => {
    const body = bodyTask(() =>
      once('effect', async () => {
        const refused = await streams
          .append('k', () => 1)
          .catch((error: unknown) => (error as { code: string }).code)
        await streams.append('k', 'a')
        return refused
      }),
    )
    await using t = await createTestEngine({ tasks: [body], storage: projectStorage() })
    const run = await t.engine.trigger(body, null)
    expect(await run.result()).toBe('ERR_NOT_SERIALIZABLE')
  })
})

describe('reading the last attempt over HTTP', () => {
  it('sends an error whose id leads to the start, and tells a reader that was cut off before that', async () => {
    const body = attempts()
    await using t = await stillEngine({ tasks: [body], storage: projectStorage() })
    const run = await t.engine.trigger(body, null)
    expect(await last(t, run)).toMatchObject({ error: INTERRUPTED })
    const open = async (id?: string): Promise<EventReader> => {
      const path = `/realtime/v1/streams/${run.id}/k?attempts=last`
      const headers = {
        authorization: `Bearer ${SECRET}`,
        ...(id === undefined ? {} : { 'last-event-id': id }),
      }
      return new EventReader((await createHandler(t.engine)(get(path, headers))).body)
    }
    // It had seen `1a`.
    const [told, ...more] = await (await open('2')).rest()
    expect([told?.event, told?.id, more]).toEqual(['error', '-1', []])
    expect(told?.data).toContain('ERR_STREAM_INTERRUPTED')
    const kept = await open('1')
    const anew = await open(told?.id)
    await t.clock.advance(RETRY_MS)
    const chunks = async (events: EventReader) => (await events.rest()).map(({ id, data }) => [id, data])
    const rest = [
      ['3', '"2a"'],
      ['4', '"2b"'],
    ]
    expect(await chunks(kept)).toEqual(rest)
    expect(await chunks(anew)).toEqual([['0', '"kept"'], ['1', '"kept!"'], ...rest])
    expect((await createHandler(t.engine)(get(`/realtime/v1/streams/${run.id}/k?attempts=no`))).status).toBe(
      400,
    )
  })
})
