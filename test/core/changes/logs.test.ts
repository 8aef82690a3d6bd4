import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { logger, type LogLine, task } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { kernelOf } from '../../../src/core/engine.ts'
import { steadyStorage } from '../../support/abandon.ts'
import { listenTo } from '../../support/diagnostics.ts'
import { until } from '../../support/turn.ts'

const LEVELS = ['debug', 'info', 'warn', 'error'] as const
const printed: string[] = []

beforeEach(() => {
  printed.length = 0
  for (const level of LEVELS)
    vi.spyOn(console, level).mockImplementation((line: string) => void printed.push(`${level}| ${line}`))
})

afterEach(() => {
  vi.restoreAllMocks()
})

/** A task that logs with `log`. */
const logging = (log: (own: typeof logger) => void) =>
  task({ id: 'logging', run: async (_payload: null, { logger: own }) => log(own) })

async function linesOf(log: (own: typeof logger) => void): Promise<readonly LogLine[]> {
  const logs = logging(log)
  await using t = await createTestEngine({ tasks: [logs], storage: steadyStorage() })
  const lines: LogLine[] = []
  t.engine.on('log', (line) => void lines.push(line))
  await (await t.engine.trigger(logs, null)).result()
  return lines
}

describe('logger', () => {
  it('tells listeners of each line with its run, and prints nothing then', async () => {
    const logs = logging((own) => {
      logger.info('of the module', { n: 1 })
      own.warn('of the tools')
    })
    await using t = await createTestEngine({ tasks: [logs], storage: steadyStorage() })
    const lines: LogLine[] = []
    const stop = t.engine.on('log', (line) => void lines.push(line))
    const run = await t.engine.trigger(logs, null)
    await run.result()
    const about = { at: expect.any(Date) as Date, runId: run.id, taskIdentifier: 'logging', attemptNumber: 1 }
    expect(lines).toEqual([
      { ...about, level: 'info', message: 'of the module', fields: { n: 1 } },
      { ...about, level: 'warn', message: 'of the tools' },
    ])
    expect(lines[0]!.at.getTime()).toBe(t.clock.now())
    expect(printed).toEqual([])
    stop()
    await (await t.engine.trigger(logs, null)).result()
    expect(printed).toHaveLength(2)
  })

  it('prints one readable line by default, whatever is in it', async () => {
    const logs = logging((own) => own.error('first\nsecond\u001b[2J', { to: 'Ada\u2028' }))
    await using t = await createTestEngine({ tasks: [logs], storage: steadyStorage() })
    const run = await t.engine.trigger(logs, null)
    await run.result()
    const at = new Date(t.clock.now()).toISOString()
    expect(printed).toEqual([
      `error| ${at} error logging ${run.id}: first\\nsecond\\u001b[2J {"to":"Ada\\u2028"}`,
    ])
  })

  it('keeps what was given, though it is changed afterwards', async () => {
    const fields = { list: [1] }
    const [line] = await linesOf((own) => {
      own.info('a list', fields)
      fields.list.push(2)
    })
    expect(line?.fields).toEqual({ list: [1] })
  })

  it('shows what is no JSON, and never throws', async () => {
    const loop: Record<string, unknown> = { name: 'loop' }
    loop['self'] = loop
    const hostile = {
      fine: 1,
      get broken(): never {
        throw new Error('no')
      },
    }
    const shut = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error('no')
        },
      },
    )
    const lines = await linesOf((own) => {
      own.info('error', { error: new TypeError('busy', { cause: 'load' }), big: 5n })
      own.info('loop', loop)
      own.info('hostile', hostile)
      own.info('shut', shut)
      own.info('none', null as never)
      own.info('text', 'fields' as never)
      own.info({ an: 'object' } as never)
    })
    expect(lines.map(({ message, fields }) => [message, fields])).toEqual([
      [
        'error',
        { error: expect.objectContaining({ name: 'TypeError', cause: 'load' }) as unknown, big: '5' },
      ],
      ['loop', { value: "<ref *1> { name: 'loop', self: [Circular *1] }" }],
      ['hostile', { value: '{ fine: 1, broken: [Getter] }' }],
      ['shut', { value: '{}' }],
      ['none', {}],
      ['text', { value: 'fields' }],
      ['{"an":"object"}', undefined],
    ])
  })

  it('cuts what is long', async () => {
    const [line] = await linesOf((own) => own.info('x'.repeat(100_000), { text: 'y'.repeat(100_000) }))
    expect(line?.message).toHaveLength(8_193)
    expect(Object.keys(line?.fields ?? {})).toEqual(['cut'])
  })

  it('prints lines from outside of runs, and tells them to the default engine if there is one', async () => {
    logger.info('nowhere', { n: 1 })
    expect(printed).toEqual(['info| info nowhere {"n":1}'])
    await using t = await createTestEngine({ storage: steadyStorage() })
    const lines: LogLine[] = []
    t.engine.on('log', (line) => void lines.push(line))
    const remove = t.engine.makeDefault()
    logger.info('on the default engine')
    remove()
    await t.clock.settle()
    expect(lines).toEqual([{ at: expect.any(Date) as Date, level: 'info', message: 'on the default engine' }])
  })

  it('logs for a run that was aborted, whose function still goes on', async () => {
    let goOn = (): void => undefined
    const stubborn = task({
      id: 'stubborn',
      run: async (_payload: null, { logger: own }) => {
        await new Promise<void>((resolve) => (goOn = resolve))
        own.info('late')
        logger.info('late, too')
      },
    })
    await using t = await createTestEngine({
      tasks: [stubborn],
      storage: steadyStorage(),
      clock: { mode: 'manual' },
    })
    const messages: string[] = []
    t.engine.on('log', ({ message }) => void messages.push(message))
    const run = await t.engine.trigger(stubborn, null)
    await until(() => t.engine.stats().executing > 0)
    await t.engine.runs.cancel(run.id)
    goOn()
    await t.clock.settle()
    expect(messages).toEqual(['late', 'late, too'])
  })

  it('publishes lines on a diagnostics channel', async () => {
    const told: unknown[] = []
    using _log = listenTo('waitpoint:log', ({ line }) => told.push(line.message))
    await linesOf((own) => own.debug('told'))
    expect(told).toEqual(['told'])
  })
})

describe('Logs', () => {
  it('keeps the last thousand lines of all runs, and not more than a megabyte of them', async () => {
    const logs = task({
      id: 'logs',
      run: async ({ count, size }: { count: number; size: number }, { logger: own }) => {
        for (let n = 0; n < count; n += 1) own.info(`${n} ${'x'.repeat(size)}`)
      },
    })
    await using t = await createTestEngine({ tasks: [logs], storage: steadyStorage() })
    t.engine.on('log', () => undefined)
    const kept = async (payload: { count: number; size: number }): Promise<readonly LogLine[]> => {
      const run = await t.engine.trigger(logs, payload)
      await run.result()
      return kernelOf(t.engine).logs.ofRun(run.id)
    }
    const short = await kept({ count: 1_500, size: 1 })
    expect([short.length, short[0]?.message]).toEqual([1_000, '500 x'])
    const long = await kept({ count: 500, size: 8_000 })
    expect(long.length).toBeLessThan(70)
    expect(long.at(-1)?.message).toMatch(/^499 /)
  })
})
