import { describe, expect, it } from 'vitest'
import { memoryStorage, once, type RunTools, task } from 'waitpoint'
import { createTestEngine, type TestClock, type TestEngine, testClock } from 'waitpoint/testing'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { alwaysAsync } from '../../src/testing/storages/async.ts'
import { projectStorage } from '../support/abandon.ts'
import { bodyTask, rejection } from '../support/body-task.ts'
import { steeredStorage } from '../support/steered-storage.ts'
import { turn, until } from '../support/turn.ts'

const child = task({ id: 'child', run: async () => 'made' })

/** What an attempt may write; `token` was made outside of the run. */
type Write = (tools: RunTools, token: string) => PromiseLike<unknown>

const writes: readonly (readonly [string, Write])[] = [
  ['create a token', ({ wait }) => wait.createToken({ idempotencyKey: 'made' })],
  ['complete a token', ({ wait }, token) => wait.completeToken(token, 'made')],
  ['trigger a run', ({ tasks }) => tasks.trigger<typeof child>('child', undefined)],
  ['trigger a batch', ({ tasks }) => tasks.batchTrigger<typeof child>('child', [{ payload: undefined }])],
  ['trigger a child', ({ tasks }) => tasks.triggerAndWait<typeof child>('child', undefined)],
  ['replay a run', ({ runs, ctx }) => runs.replay(ctx.run.id)],
  ['begin to sleep', ({ wait }) => wait.for({ days: 1 })],
  ['wait for a token', ({ wait }, token) => wait.forToken(token)],
  ['bind a key', ({ wait }, token) => wait.forToken(token, { idempotencyKey: 'made' })],
  ['begin an effect', () => once('effect', () => 'made')],
]

/** A run whose engine hears nothing: it learns from its own write what has become of its attempt. */
interface Deaf {
  readonly clock: TestClock
  /** An engine that hears. */
  readonly other: TestEngine
  readonly run: { readonly id: string }
  readonly token: string
  /** What the write of the first attempt came to, a minute after it began. */
  readonly told: () => Promise<unknown>
  readonly reasons: readonly unknown[]
  readonly close: () => Promise<void>
}

/** With `question`, the tag of a token: the run is parked for it when it writes. */
async function deaf(write: Write, question?: string): Promise<Deaf> {
  const clock = testClock({ mode: 'manual' })
  const storage = projectStorage()
  const steering = steeredStorage(storage)
  const reasons: unknown[] = []
  let token = ''
  let told: Promise<unknown> | undefined
  const body = bodyTask(async (tools) => {
    if (tools.ctx.attempt.number > 1) return tools.wait.for({ days: 1 })
    tools.signal.addEventListener('abort', () => void reasons.push(tools.signal.reason))
    if (question !== undefined) {
      const asked = await tools.wait.createToken({ timeout: '30d', tags: [question], name: 'question' })
      tools.wait.forToken(asked).then(
        () => undefined,
        () => undefined,
      )
    }
    await clock.sleep('1m')
    told = rejection(write(tools, token))
    return told
  })
  const silent = { ...steering.storage, subscribe: () => () => undefined }
  const old = await createTestEngine({ tasks: [body, child], storage: silent, clock, seed: 'old' })
  const run = await old.engine.trigger(body, null)
  await clock.settle()
  steering.fail('tick', 1_000)
  const other = await createTestEngine({ tasks: [body, child], storage, clock, seed: 'other' })
  token = (await other.engine.wait.createToken({ timeout: '30d' })).id
  return {
    clock,
    other,
    run,
    token,
    reasons,
    told: () => told ?? Promise.reject(new Error('the attempt has not come to its write')),
    close: async () => {
      await old.close()
      await other.close()
    },
  }
}

async function madeBy({ other, run, token }: Deaf): Promise<unknown> {
  const [tokens, runs] = [await other.engine.wait.listTokens(), await other.engine.runs.list()]
  const { status } = await other.engine.wait.retrieveToken(token)
  const made = [...tokens.data, ...runs.data]
    .map(({ id }) => id)
    .filter((id) => id !== token && id !== run.id)
  return { made, status }
}

describe('an attempt whose lease was lost', () => {
  it.each(writes)('cannot %s: it is told, and its signal is aborted', async (_name, write) => {
    const scene = await deaf(write)
    await scene.clock.advance('1m')
    expect(await scene.told()).toMatchObject({ code: 'ERR_STALE_ATTEMPT' })
    expect(scene.reasons).toEqual([await scene.told()])
    expect(await madeBy(scene)).toEqual({ made: [], status: 'WAITING' })
    expect(await scene.other.engine.runs.retrieve(scene.run)).toMatchObject({
      status: 'WAITING',
      attemptCount: 2,
    })
    await scene.close()
  })
})

describe('an attempt that is parked, whose run another engine has gone on with since', () => {
  it.each(writes)('cannot %s: it is told, and its signal is aborted', async (_name, write) => {
    const scene = await deaf(write, 'question')
    const { other, clock, run } = scene
    await clock.advance('10s')
    expect((await other.engine.runs.retrieve(run)).status).toBe('WAITING')
    // The lease of its engine has ended.
    await clock.advance('30s')
    const [asked] = (await other.engine.wait.listTokens({ tag: 'question' })).data
    await other.engine.wait.completeToken(asked ?? '', 'yes')
    await clock.advance('30s')
    expect(await scene.told()).toMatchObject({ code: 'ERR_STALE_ATTEMPT' })
    expect(scene.reasons).toEqual([await scene.told()])
    const { made, status } = (await madeBy(scene)) as { made: string[]; status: string }
    expect([made, status]).toEqual([[asked?.id], 'WAITING'])
    expect(await other.engine.runs.retrieve(run)).toMatchObject({ status: 'WAITING', attemptCount: 2 })
    await scene.close()
  })
})

describe('a run that was canceled by another engine', () => {
  it.each(writes)('cannot %s: it is told that it was canceled', async (_name, write) => {
    const scene = await deaf(write)
    await scene.other.engine.runs.cancel(scene.run)
    await scene.clock.advance('1m')
    expect(await scene.told()).toMatchObject({ code: 'ERR_RUN_CANCELED' })
    expect(scene.reasons).toEqual([await scene.told()])
    expect(await madeBy(scene)).toEqual({ made: [], status: 'WAITING' })
    await scene.close()
  })
})

describe('a run that had returned when its lease was lost', () => {
  it('ends once, and is told by the engine that ended it, not by the one that was slow', async () => {
    const clock = testClock({ mode: 'manual' })
    const storage = projectStorage()
    const steering = steeredStorage(storage)
    const returning = task({
      id: 'returning',
      run: async () => 'done',
      onSuccess: () => clock.sleep('1m'),
    })
    const silent = { ...steering.storage, subscribe: () => () => undefined }
    const old = await createTestEngine({ tasks: [returning], storage: silent, clock, seed: 'old' })
    const told: string[] = []
    old.engine.on('run', ({ status }) => told.push(`old ${status}`))
    const run = await old.engine.trigger(returning, undefined)
    await clock.settle()
    steering.fail('tick', 1_000)
    const other = await createTestEngine({ tasks: [returning], storage, clock, seed: 'other' })
    other.engine.on('run', ({ status }) => told.push(`other ${status}`))
    await clock.advance('2m')
    expect(told).toEqual(['old QUEUED', 'old EXECUTING', 'other COMPLETED'])
    expect(await other.engine.runs.retrieve(run)).toMatchObject({ status: 'COMPLETED', output: 'done' })
    await old.close()
    await other.close()
  })
})

describe('a write that comes after the function has returned', () => {
  it('may be told first that the run has ended: that is told once all the same', async () => {
    const steering = steeredStorage(projectStorage())
    const returned = createDeferred<undefined>()
    let late: Promise<unknown> | undefined
    const body = bodyTask(async ({ wait }) => {
      late = returned.promise.then(() => rejection(wait.createToken()))
    })
    const t = await createTestEngine({ tasks: [body], storage: steering.storage })
    const told: string[] = []
    t.engine.on('run', ({ status }) => told.push(status))
    const answer = steering.holdAnswer('runs.update')
    const run = await t.engine.trigger(body, null)
    await until(() => steering.calls.includes('runs.update'))
    returned.resolve(undefined)
    const refusal = await late
    answer()
    await run.result()
    expect(refusal).toMatchObject({ code: 'ERR_RUN_ENDED' })
    expect(told).toEqual(['QUEUED', 'EXECUTING', 'COMPLETED'])
    await t.close()
  })

  it('may be told first: an answer of metadata that is still out does not take the end back', async () => {
    const steering = steeredStorage(alwaysAsync(memoryStorage()))
    const returned = createDeferred<undefined>()
    let late: Promise<unknown> | undefined
    const body = bodyTask(async (tools) => {
      tools.metadata.set('seen', true)
      await until(() => steering.calls.includes('runs.update'))
      late = returned.promise.then(() => rejection(tools.wait.createToken()))
      endAnswer = steering.holdAnswer('runs.update')
    })
    let endAnswer = (): void => undefined
    const t = await createTestEngine({ tasks: [body], storage: steering.storage })
    const told: string[] = []
    t.engine.on('run', ({ status }) => told.push(status))
    const firstAnswer = steering.holdAnswer('runs.update')
    const run = await t.engine.trigger(body, null)
    await until(() => steering.calls.filter((call) => call === 'runs.update').length === 2)
    returned.resolve(undefined)
    await late
    firstAnswer()
    await turn()
    endAnswer()
    await run.result()
    await turn()
    expect(told).toEqual(['QUEUED', 'EXECUTING', 'COMPLETED'])
    await t.close()
  })
})
