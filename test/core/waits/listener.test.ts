import { describe, expect, it } from 'vitest'
import { createEngine, type Engine, once, type TokenSignal, task, wait } from 'waitpoint'
import { createTestEngine, type TestClock, testClock, type TestEngine } from 'waitpoint/testing'
import { abandonable, projectStorage } from '../../support/abandon.ts'
import { bodyTask, rejection } from '../../support/body-task.ts'
import { until } from '../../support/turn.ts'
import { exploreAll } from '../../testing/exploration/bodies.ts'

const DAY = { timeout: '1d' } as const

/** Work that the engine cannot see, until it is stopped: it looks every minute. */
async function stopped(
  signal: AbortSignal,
  clock: TestClock,
  isDead = (): boolean => false,
): Promise<unknown> {
  while (!signal.aborted && !isDead()) await clock.sleep('1m')
  return signal.reason
}

async function statusOf(engine: Engine, id: string): Promise<string> {
  return (await engine.runs.retrieve(id)).status
}

/** The only token that waits. */
async function answer(engine: Engine, tag: string, output: unknown): Promise<boolean> {
  const [token] = (await engine.wait.listTokens({ status: 'WAITING', tags: tag })).data
  return token !== undefined && (await engine.wait.completeToken(token, output)).success
}

function manual(body: Parameters<typeof bodyTask>[0]): Promise<TestEngine> {
  return createTestEngine({ tasks: [bodyTask(body)], clock: { mode: 'manual' } })
}

describe('wait.signal', () => {
  it('is aborted with the answer while the run goes on, which keeps its slot', async () => {
    const reasons: unknown[] = []
    await using t = await manual(async () => {
      const stop = await wait.signal<string>(await wait.createToken({ ...DAY, tags: ['stop'] }))
      reasons.push(stop.aborted, stop.reason)
      reasons.push(await stopped(stop, t.clock))
      return stop.reason?.output
    })
    const run = await t.engine.tasks.trigger('body', null)
    await t.clock.advance('10m')
    expect(await statusOf(t.engine, run.id)).toBe('EXECUTING')
    expect(await answer(t.engine, 'stop', 'enough')).toBe(true)
    await t.clock.advance('1m')
    expect(await run.result()).toBe('enough')
    expect(reasons.slice(0, 2)).toEqual([false, undefined])
    expect(reasons[2]).toBeInstanceOf(DOMException)
    expect(reasons[2]).toMatchObject({ name: 'AbortError', output: 'enough' })
  })

  it('leaves the work beside it to the limit of its queue', async () => {
    let [atOnce, most] = [0, 0]
    const work = task({
      id: 'work',
      queue: { concurrencyLimit: 1 },
      run: async () => {
        const stop = await wait.signal(await wait.createToken(DAY))
        most = Math.max(most, ++atOnce)
        for (let minute = 0; minute < 2 && !stop.aborted; minute++) await t.clock.sleep('1m')
        atOnce -= 1
      },
    })
    await using t = await createTestEngine({ tasks: [work], clock: { mode: 'manual' } })
    const runs = [await t.engine.trigger(work), await t.engine.trigger(work)]
    await t.clock.advance('5m')
    expect(await Promise.all(runs.map(({ id }) => statusOf(t.engine, id)))).toEqual([
      'COMPLETED',
      'COMPLETED',
    ])
    expect(most).toBe(1)
  })

  it('is aborted from the beginning when the token was completed before', async () => {
    let id = ''
    await using t = await manual(async ({ wait: waits }) => {
      const { aborted, reason } = await waits.signal<number>(id)
      return [aborted, reason?.tokenId === id, reason?.output]
    })
    id = (await t.engine.wait.createToken()).id
    await t.engine.wait.completeToken(id, 7)
    expect(await (await t.engine.tasks.trigger('body', null)).result()).toEqual([true, true, 7])
  })

  it('does not keep a run that only waits from parking, tells it there, and lets it park again', async () => {
    const told: unknown[] = []
    await using t = await manual(async () => {
      const stop = await wait.signal(await wait.createToken({ ...DAY, tags: ['stop'] }))
      stop.addEventListener('abort', () => told.push(stop.reason?.output))
      return wait.forToken(await wait.createToken({ ...DAY, tags: ['ask'] })).unwrap()
    })
    const run = await t.engine.tasks.trigger('body', null)
    await t.clock.settle()
    expect(await statusOf(t.engine, run.id)).toBe('WAITING')
    await answer(t.engine, 'stop', 'enough')
    await until(() => told.length > 0)
    await t.clock.settle()
    expect([told, await statusOf(t.engine, run.id)]).toEqual([['enough'], 'WAITING'])
    await answer(t.engine, 'ask', 'yes')
    expect(await run.result()).toBe('yes')
  })

  it('drops a wait that it was given to', async () => {
    await using t = await manual(async () => {
      const signal = await wait.signal(await wait.createToken({ ...DAY, tags: ['stop'] }))
      const dropped = await rejection(wait.forToken(await wait.createToken(DAY), { signal }))
      return dropped === signal.reason
    })
    const run = await t.engine.tasks.trigger('body', null)
    await t.clock.settle()
    await answer(t.engine, 'stop', null)
    expect(await run.result()).toBe(true)
  })

  it('is not aborted by a time-out, before it was asked for nor after', async () => {
    let early = ''
    const signals: TokenSignal[] = []
    await using t = await manual(async () => {
      signals.push(await wait.signal(early))
      signals.push(await wait.signal(await wait.createToken({ timeout: '1m' })))
      await wait.for({ hours: 1 })
    })
    early = (await t.engine.wait.createToken({ timeout: '1m' })).id
    await t.clock.advance('2m')
    const run = await t.engine.tasks.trigger('body', null)
    await t.clock.settle()
    expect(signals.length).toBe(2)
    await t.clock.advance('1h')
    await run.result()
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false])
  })

  it('rejects where there is no run, for a token that there is not, and once the run was canceled', async () => {
    const seen: unknown[] = []
    const note = async (): Promise<void> => void seen.push(await rejection(wait.signal('waitpoint_x')))
    const busy = task({
      id: 'busy',
      run: async (_: null, { signal }) => stopped(signal, t.clock).then(note),
      onCancel: note,
    })
    await using t = await createTestEngine({ tasks: [bodyTask(note), busy], clock: { mode: 'manual' } })
    seen.push(await rejection(t.engine.wait.signal('waitpoint_x')))
    await (await t.engine.tasks.trigger('body', null)).result()
    const { id } = await t.engine.tasks.trigger('busy', null)
    await t.clock.settle()
    await t.engine.runs.cancel(id)
    await t.clock.advance('1m')
    await until(() => seen.length === 4)
    const errors = seen.map((error) => (error as { code?: string }).code)
    expect(errors).toEqual(['ERR_NOT_IN_RUN', 'ERR_TOKEN_NOT_FOUND', 'ERR_RUN_CANCELED', 'ERR_RUN_CANCELED'])
  })

  it('hears what another engine is told, and what was told while its process was dead', async () => {
    await using clock = testClock({ mode: 'manual' })
    const storage = projectStorage()
    const heard: unknown[] = []
    const begun: number[] = []
    const agent = bodyTask(async ({ ctx }) => {
      const first = await wait.signal(await wait.createToken({ ...DAY, tags: ['first'], name: 'first' }))
      const second = await wait.signal(await wait.createToken({ ...DAY, tags: ['second'], name: 'second' }))
      begun.push(ctx.attempt.number)
      await stopped(first, clock)
      heard.push(`${ctx.attempt.number} first`)
      await stopped(second, clock, () => ctx.attempt.number < begun.length)
      return [first.reason?.output, second.reason?.output]
    })
    const dying = abandonable(clock, storage)
    const engine = createEngine({ tasks: [agent], clock: dying.clock, storage: dying.storage })
    await using other = createEngine({ storage, clock })
    const run = await engine.tasks.trigger('body', null)
    await until(() => begun.length === 1)
    await answer(other, 'first', 1)
    await clock.advance('1m')
    expect(heard.length).toBe(1)
    dying.abandon()
    await answer(other, 'second', 2)
    await using next = createEngine({ tasks: [agent], storage, clock })
    await next.ready()
    await clock.advance('3m')
    expect((await next.runs.poll(run.id)).output).toEqual([1, 2])
    expect([begun, heard]).toEqual([
      [1, 2],
      ['1 first', '2 first'],
    ])
  })

  it('comes between the answers before and after it when its run is executed again', async () => {
    await using clock = testClock({ mode: 'manual' })
    const storage = projectStorage()
    const asked: string[] = []
    const code = bodyTask(async () => {
      const stop = await wait.signal(await wait.createToken({ ...DAY, tags: ['stop'] }))
      for (;;) {
        const question = stop.aborted ? 'last' : 'go on'
        asked.push(question)
        const { ok } = await wait.forToken(await wait.createToken({ ...DAY, tags: [question] }))
        if (stop.aborted) return ok
      }
    })
    const live = async (tag: string): Promise<string> => {
      await using engine = createEngine({ tasks: [code], storage, clock })
      await engine.ready()
      if (tag === 'begin') await engine.tasks.trigger('body', null)
      else await answer(engine, tag, tag)
      await clock.advance('1s')
      const [run] = (await engine.runs.list()).data
      return run?.status ?? ''
    }
    expect(await live('begin')).toBe('WAITING')
    expect(await live('go on')).toBe('WAITING')
    expect(await live('stop')).toBe('WAITING')
    expect(asked).toEqual(['go on', 'go on', 'go on', 'go on', 'go on'])
    expect(await live('go on')).toBe('COMPLETED')
  })

  it('stops an agent in every schedule, with a crash before and after every write', async () => {
    const agent = task({
      id: 'agent',
      run: async (token: string) => {
        const stop = await wait.signal<string>(token)
        for (let step = 1; step <= 2 && !stop.aborted; step += 1) await once(`step ${step}`, () => step)
        return stop.reason?.output ?? 'done'
      },
    })
    const report = await exploreAll(
      async (t) => {
        const { id } = await t.engine.wait.createToken({ idempotencyKey: 'stop' })
        const run = await t.engine.trigger(agent, id, { idempotencyKey: 'run' })
        await t.engine.wait.completeToken(id, 'stopped')
        const output: unknown = await run.result()
        expect(['stopped', 'done']).toContain(output)
        t.sometimes('it was stopped', output === 'stopped')
        t.sometimes('it was done', output === 'done')
      },
      { tasks: [agent], crashes: 'every-commit', maxDeviations: 1 },
    )
    expect(report).toMatchObject({ complete: true })
  })
})
