import { describe, expect, it } from 'vitest'
import { type Task, task } from 'waitpoint'
import { createTestEngine, type TestClock, type TestEngine, testClock } from 'waitpoint/testing'
import type { Storage } from '../../src/contract/storage.ts'
import { projectStorage } from '../support/abandon.ts'
import { type SteeredStorage, steeredStorage } from '../support/steered-storage.ts'
import { turn, until } from '../support/turn.ts'

/** A task whose runs execute one after the other, and which of them began, by whom. */
function narrow(begun: string[], by: string): Task<string, void> {
  return task({
    id: 'narrow',
    queue: { concurrencyLimit: 1 },
    run: (name) => void begun.push(`${name} by ${by}`),
  })
}

/** Two engines on one storage: the answers to the one that claims can be held back. */
async function scene(begun: string[], { isDeaf = false } = {}): Promise<Scene> {
  const clock = testClock({ mode: 'manual', ioGraceMs: 10 })
  const storage = projectStorage()
  const steering = steeredStorage(storage)
  const other = await createTestEngine({ storage, clock, seed: 'other' })
  const tasks = [narrow(begun, 'one')]
  const silent = { ...steering.storage, subscribe: () => () => undefined }
  const heard = isDeaf ? silent : steering.storage
  const one = await createTestEngine({ tasks, storage: heard, clock, seed: 'one' })
  await clock.settle()
  return {
    clock,
    storage,
    one,
    other,
    steering,
    async [Symbol.asyncDispose]() {
      for (const t of [one, other]) await t.close()
    },
  }
}

interface Scene extends AsyncDisposable {
  readonly clock: TestClock
  readonly storage: Storage
  readonly one: TestEngine
  readonly other: TestEngine
  readonly steering: SteeredStorage
}

/** Triggers a run, and waits until it is claimed; the answer to that is held back. */
async function claimed({
  one,
  other,
  steering,
}: Scene): Promise<{ readonly id: string; readonly answer: () => void }> {
  const answer = steering.holdAnswer('runs.claim')
  const { id } = await one.engine.tasks.trigger<Task<string, void>>('narrow', 'first')
  while ((await other.engine.runs.retrieve(id)).status !== 'EXECUTING') await turn()
  return { id, answer }
}

describe('a run that is claimed, of which the engine that claims has not heard yet,', () => {
  it.each([
    ['one', ['QUEUED', 'CANCELED']],
    ['other', ['QUEUED']],
  ] as const)(
    'does not begin once the %s engine has canceled it, nor keeps its slot',
    async (name, events) => {
      const begun: string[] = []
      await using t = await scene(begun)
      const told: string[] = []
      t.one.engine.on('run', ({ id, status }) => void told.push(`${id} ${status}`))
      const { id, answer } = await claimed(t)
      await t[name].engine.runs.cancel(id)
      await turn()
      await t.one.engine.tasks.trigger<Task<string, void>>('narrow', 'second')
      answer()
      await t.one.clock.settle()
      expect(begun).toEqual(['second by one'])
      expect(told.filter((line) => line.startsWith(id))).toEqual(events.map((status) => `${id} ${status}`))
      expect(t.one.engine.stats()).toMatchObject({ attempts: 0, executing: 0 })
    },
  )

  it('does not begin when somebody else has taken it over', async () => {
    const begun: string[] = []
    // As if the process stood still.
    await using t = await scene(begun, { isDeaf: true })
    const { id, answer } = await claimed(t)
    const goOn = t.steering.holdCall('tick')
    const { clock, storage } = t
    await using heir = await createTestEngine({
      tasks: [narrow(begun, 'heir')],
      storage,
      clock,
      seed: 'heir',
    })
    await clock.jump('1m').catch(() => undefined)
    await until(() => begun.length > 0)
    answer()
    await turn()
    goOn()
    await clock.settle()
    expect(begun).toEqual(['first by heir'])
    expect((await heir.engine.runs.retrieve(id)).status).toBe('COMPLETED')
  })

  it('begins when the answer comes late and nothing has happened to it', async () => {
    const begun: string[] = []
    await using t = await scene(begun)
    const { answer } = await claimed(t)
    await t.clock.jump('5s').catch(() => undefined)
    answer()
    await t.clock.settle()
    expect(begun).toEqual(['first by one'])
  })
})
