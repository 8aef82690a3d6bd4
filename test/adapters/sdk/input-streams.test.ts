import { describe, expect, it, vi } from 'vitest'
import { auth, type AnyTask, runs, streams, task, wait } from 'waitpoint/sdk'
import { createHandler } from 'waitpoint/http'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { until } from '../../support/turn.ts'
import { taskFile } from './task-file.ts'

interface Conversation extends Record<string, unknown> {
  readonly publishPost: AnyTask
  readonly strictPost: AnyTask
  readonly hurried: AnyTask
  readonly patient: AnyTask
  readonly stoppable: AnyTask
  readonly lazy: AnyTask
  readonly reviewerTask: AnyTask
  readonly heard: string[]
  readonly said: string[]
  readonly told: string[]
}

const file = await taskFile<Conversation>('conversation')
const approval = streams.input<{ approved: boolean; reviewer: string }>({ id: 'approval' })
const cancel = streams.input<{ reason?: string }>({ id: 'cancel' })
const messages = streams.input<{ text: string; at?: Date }>({ id: 'messages' })

const tasks = Object.values(file).filter(
  (value): value is AnyTask => typeof value === 'object' && value !== null && 'triggerAndWait' in value,
)

async function engine(...others: readonly AnyTask[]): Promise<TestEngine> {
  const t = await createTestEngine({
    tasks: [...tasks, ...others],
    clock: { mode: 'manual' },
    secretKey: 'tr_dev_xxxxxxxx',
  })
  t.engine.makeDefault()
  return t
}

const outputOf = async (id: string): Promise<unknown> => (await runs.poll(id)).output

describe('streams.input of task files', () => {
  it('parks a run until a message comes, or for its time', async () => {
    await using t = await engine()
    const { id } = await file.publishPost.trigger({ postId: 'p1' })
    const silent = await file.publishPost.trigger({ postId: 'p2' })
    const strict = await file.strictPost.trigger(undefined)
    await until(() => t.engine.stats().executing === 0)
    await approval.send(id, { approved: true, reviewer: 'ann' })
    expect(await outputOf(id)).toEqual({ published: true, reviewer: 'ann' })
    await t.clock.advance('7d')
    expect(await outputOf(silent.id)).toEqual({ published: false, timedOut: 'WaitpointTimeoutError' })
    expect((await runs.poll(strict.id)).error).toMatchObject({ name: 'WaitpointTimeoutError' })
  })

  it('keeps the slot of the run in once, whose time-out is that of the hosted service', async () => {
    await using t = await engine()
    const late = await file.hurried.trigger({ timeoutMs: 5_000 })
    const early = await file.hurried.trigger({ timeoutMs: 0 })
    const patient = await file.patient.trigger(undefined)
    await t.clock.advance('1h')
    expect(t.engine.stats().executing).toBe(2)
    expect(await outputOf(late.id)).toBe(
      'InputStreamTimeoutError: Timeout waiting for input stream "approval" after 5000ms (approval, 5000)',
    )
    await approval.send(early.id, { approved: true, reviewer: 'ann' })
    await approval.send(patient.id, { approved: true, reviewer: 'bob' })
    expect(await outputOf(early.id)).toBe('by ann')
    expect(await outputOf(patient.id)).toBe('bob')
  })

  it('calls a listener with each message, and logs what it throws', async () => {
    using log = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    await using _t = await engine()
    file.heard.length = 0
    const { id } = await file.stoppable.trigger({ words: ['a', 'b', 'c'] })
    await messages.send(id, { text: '1' })
    await cancel.send(id, { reason: 'twice' })
    await until(() => file.heard.length === 1)
    await messages.send(id, { text: '2' })
    await until(() => file.said.length === 2)
    await cancel.send(id, {})
    await until(() => file.heard.length === 2)
    await messages.send(id, { text: '3' })
    expect(await outputOf(id)).toEqual(['a 1', 'b 2'])
    expect(file.heard).toEqual(['twice', 'no reason'])
    expect(String(log.mock.calls)).toContain('A handler of stream "cancel" has failed')
  })

  it('waits with its slot first, then without, and tells of it', async () => {
    await using t = await engine()
    file.told.length = 0
    const warm = await file.lazy.trigger({ idle: 10 })
    const at = new Date(0)
    await messages.send(warm.id, { text: 'soon', at })
    expect([await outputOf(warm.id), file.told]).toEqual(['soon string', []])
    const skipped = await file.lazy.trigger({ idle: 10, skipSuspend: true })
    await t.clock.advance('10s')
    expect([await outputOf(skipped.id), file.told]).toEqual(['WaitpointTimeoutError', []])
    const cold = await file.lazy.trigger({ idle: 10 })
    await t.clock.advance('10s')
    await until(() => t.engine.stats().executing === 0)
    await messages.send(cold.id, { text: 'late' })
    expect([await outputOf(cold.id), file.told]).toEqual(['late undefined', ['suspends', 'resumes']])
    const silent = await file.lazy.trigger({ idle: 0 })
    await t.clock.advance('1h')
    expect(await outputOf(silent.id)).toBe('WaitpointTimeoutError')
  })

  it('sends from another run, and rejects for one that is over', async () => {
    await using _t = await engine()
    const { id } = await file.strictPost.trigger(undefined)
    await runs.poll(await file.reviewerTask.trigger({ targetRunId: id }))
    expect(await outputOf(id)).toBe('auto-reviewer')
    await expect(approval.send(id, { approved: true, reviewer: 'ann' })).rejects.toMatchObject({
      code: 'ERR_RUN_ENDED',
    })
  })

  it('calls the hooks of a wait around wait, and not around once', async () => {
    const calls: unknown[] = []
    const hooked = task({
      id: 'hooked',
      onWait: ({ wait }) => void calls.push(wait),
      onResume: () => void calls.push('resumed'),
      run: async () => [await approval.once().unwrap(), await approval.wait().unwrap()],
    })
    await using _t = await engine(hooked)
    const { id } = await hooked.trigger(undefined)
    for (const reviewer of ['ann', 'bob']) await approval.send(id, { approved: true, reviewer })
    expect(await outputOf(id)).toHaveLength(2)
    expect(calls).toEqual([{ type: 'token', token: 'approval' }, 'resumed'])
  })

  it('refuses options that there are not, and a handler that is none', async () => {
    const wrong = task({
      id: 'wrong',
      run: async () => {
        const tries: (() => unknown)[] = [
          () => approval.wait({ timeoutMs: 1 } as never),
          () => approval.once({ timeout: '1s' } as never),
          () => approval.on(undefined as never),
          () => approval.waitWithIdleTimeout({ idle: 1 } as never),
          () => approval.send('run_1', { approved: true, reviewer: 'a' }, { key: 'k' } as never),
          () => streams.input({ id: '' }),
        ]
        const told: string[] = []
        for (const call of tries)
          await Promise.resolve()
            .then(call)
            .catch((error: unknown) => told.push((error as Error).name))
        return told
      },
    })
    await using _t = await engine(wrong)
    const { id } = await wrong.trigger(undefined)
    expect(await outputOf(id)).toEqual(Array.from({ length: 6 }, () => 'TypeError'))
  })

  it('grants messages to single runs by an access token', async () => {
    const taking = task({
      id: 'taking',
      run: async () => {
        await wait.for({ seconds: 10 })
        return (await approval.wait().unwrap()).reviewer
      },
    })
    await using t = await engine(taking)
    const handler = createHandler(t.engine)
    const [one, other] = [await taking.trigger(undefined), await taking.trigger(undefined)]
    const token = await auth.createPublicToken({ scopes: { write: { inputStreams: one.id } } })
    const send = async (id: string): Promise<number> => {
      const answer = await handler(
        new Request(`https://app.example/realtime/v1/streams/${id}/input/approval`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ data: { approved: true, reviewer: 'ann' } }),
        }),
      )
      return answer.status
    }
    expect([await send(one.id), await send(other.id)]).toEqual([200, 403])
    await t.clock.advance('10s')
    expect(await outputOf(one.id)).toBe('ann')
  })
})
