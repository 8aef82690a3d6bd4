import { describe, expect, it } from 'vitest'
import { memoryStorage, type Storage, task, wait } from 'waitpoint'
import type { RunResumed } from 'waitpoint/storage'
import { createTestEngine, testClock, type TestClock, type TestEngine } from 'waitpoint/testing'
import { chain } from '../../src/primitives/awaitable.ts'

const ask = task({
  id: 'ask',
  run: async (ids: readonly string[]) => {
    const answers: string[] = []
    for (const id of ids) answers.push(await wait.forToken<string>(id).unwrap())
    return answers
  },
})

/** Which runs are named in hints of waits, what a resume answers to that, and what the worker has asked. */
interface Naming {
  readonly named: () => readonly string[]
  readonly tokens?: (tokens: RunResumed & { readonly outcome: 'resumed' }) => RunResumed
  readonly asked: string[]
}

/** A storage that names the runs of its hints, and says at their resume what was settled, as Postgres does. */
function namingRuns(storage: Storage, { named, tokens = (resumed) => resumed, asked }: Naming): Storage {
  let worker = ''
  return {
    ...storage,
    subscribe: (owner, listener) =>
      storage.subscribe(owner, (hint) => {
        listener(hint.topic === 'waits' && named().length > 0 ? { ...hint, runIds: named() } : hint)
      }),
    tick(request) {
      if (request.owner === worker) asked.push('tick')
      return storage.tick(request)
    },
    runs: {
      ...storage.runs,
      claim(request) {
        worker = request.by
        return storage.runs.claim(request)
      },
      resume(request) {
        asked.push(request.isHinted === true ? 'hinted resume' : 'resume')
        return chain(storage.runs.resume(request), (resumed) => {
          if (resumed.outcome !== 'resumed' || request.isHinted !== true) return resumed
          return chain(
            storage.tokens.list({ kind: 'MANUAL', status: ['COMPLETED'] }, { limit: 9 }, 0),
            (page) => tokens({ ...resumed, tokens: page.records }),
          )
        })
      },
    },
  }
}

interface Apart extends AsyncDisposable {
  readonly clock: TestClock
  readonly web: TestEngine
}

/** A web server and a worker on one storage. */
async function apart(storage: Storage): Promise<Apart> {
  const clock = testClock({ mode: 'manual' })
  const common = { tasks: [ask], clock, storage } as const
  const worker = await createTestEngine({ ...common, seed: 'worker' })
  const web = await createTestEngine({ ...common, seed: 'web', execute: false })
  await clock.settle()
  return {
    clock,
    web,
    async [Symbol.asyncDispose]() {
      await web.close()
      await worker.close()
    },
  }
}

describe('a run that is named by the hint that wakes it', () => {
  it('goes on with what its resume says, without a tick', async () => {
    let named: readonly string[] = []
    const asked: string[] = []
    await using t = await apart(namingRuns(memoryStorage(), { named: () => named, asked }))
    const token = await t.web.engine.wait.createToken()
    const run = await t.web.engine.trigger(ask, [token.id])
    await t.clock.settle()
    named = [run.id]
    asked.length = 0
    await t.web.engine.wait.completeToken(token, 'yes')
    await t.clock.settle()
    expect(await run.result()).toEqual(['yes'])
    expect(asked).toEqual(['hinted resume'])
  })

  it('goes on also when the answer of its resume does not say with what: a tick does', async () => {
    let named: readonly string[] = []
    const asked: string[] = []
    const storage = namingRuns(memoryStorage(), {
      named: () => named,
      tokens: ({ outcome, record }) => ({ outcome, record }),
      asked,
    })
    await using t = await apart(storage)
    const token = await t.web.engine.wait.createToken()
    const run = await t.web.engine.trigger(ask, [token.id])
    await t.clock.settle()
    named = [run.id]
    asked.length = 0
    await t.web.engine.wait.completeToken(token, 'yes')
    await t.clock.settle()
    expect(await run.result()).toEqual(['yes'])
    expect(asked.slice(0, 2)).toEqual(['hinted resume', 'tick'])
  })

  it('parks again when nothing was settled, and hears of what is settled then', async () => {
    let named: readonly string[] = []
    const asked: string[] = []
    await using t = await apart(namingRuns(memoryStorage(), { named: () => named, asked }))
    const [mine, other] = [await t.web.engine.wait.createToken(), await t.web.engine.wait.createToken()]
    const run = await t.web.engine.trigger(ask, [mine.id])
    const another = await t.web.engine.trigger(ask, [other.id])
    await t.clock.settle()
    named = [run.id, another.id]
    await t.web.engine.wait.completeToken(other, 'other')
    await t.clock.settle()
    expect((await t.web.engine.runs.retrieve(run.id)).status).toBe('WAITING')
    await t.web.engine.wait.completeToken(mine, 'mine')
    await t.clock.settle()
    expect([await run.result(), await another.result()]).toEqual([['mine'], ['other']])
  })

  it('that has ended, or is unknown here, wakes no run', async () => {
    let named: readonly string[] = []
    const asked: string[] = []
    await using t = await apart(namingRuns(memoryStorage(), { named: () => named, asked }))
    const token = await t.web.engine.wait.createToken()
    const run = await t.web.engine.trigger(ask, [token.id])
    await t.clock.settle()
    named = ['run_unknown']
    asked.length = 0
    await t.web.engine.wait.completeToken(token, 'yes')
    await t.clock.settle()
    expect(asked).toEqual([])
    // A hint is latency only: the next look finds it.
    await t.clock.advance('20s')
    expect(await run.result()).toEqual(['yes'])
  })
})
