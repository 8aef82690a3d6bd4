import { describe, expect, it } from 'vitest'
import { type Storage, task, wait } from 'waitpoint'
import { createTestEngine, type TestClock, testClock, type TestEngine } from 'waitpoint/testing'
import { projectStorage } from '../support/abandon.ts'
import { follow } from '../support/streams.ts'

/** How long an engine goes without looking by itself. */
const LOOK = '10s'

const ask = task({
  id: 'ask',
  run: async (token: string, { metadata }) => {
    await metadata.stream('draft', words())
    return wait.forToken<string>(token).unwrap()
  },
})

async function* words(): AsyncGenerator<string> {
  yield* ['a', 'b']
}

/** Drops the hints of a storage while it is deaf. */
function losingHints(storage: Storage, isDeaf: () => boolean): Storage {
  return {
    ...storage,
    subscribe: (owner, listener) =>
      storage.subscribe(owner, (hint) => {
        if (!isDeaf()) listener(hint)
      }),
  }
}

interface Apart extends AsyncDisposable {
  readonly clock: TestClock
  readonly web: TestEngine
}

/** A web server and a worker that know of each other, and hear nothing from each other any more. */
async function apart(): Promise<Apart> {
  const clock = testClock({ mode: 'manual' })
  const storage = projectStorage()
  let isDeaf = false
  const losing = (): Storage => losingHints(storage, () => isDeaf)
  const common = { tasks: [ask], clock } as const
  const worker = await createTestEngine({ ...common, storage: losing(), seed: 'worker' })
  const web = await createTestEngine({
    ...common,
    storage: losing(),
    seed: 'web',
    execute: false,
  })
  await clock.settle()
  isDeaf = true
  return {
    clock,
    web,
    async [Symbol.asyncDispose]() {
      await web.close()
      await worker.close()
    },
  }
}

describe('engines that are never told what the others did', () => {
  it('find what was triggered, and what was completed, by looking for it', async () => {
    await using t = await apart()
    const token = await t.web.engine.wait.createToken({ timeout: '1h' })
    const run = await t.web.engine.trigger(ask, token.id)
    await t.clock.advance(LOOK)
    expect((await t.web.engine.runs.retrieve(run.id)).status).toBe('WAITING')
    await t.web.engine.wait.completeToken(token, 'yes')
    await t.clock.advance(LOOK)
    expect(await t.web.engine.runs.retrieve(run.id)).toMatchObject({ status: 'COMPLETED', output: 'yes' })
  })

  it('answer for the runs of others, and follow them to the end', async () => {
    await using t = await apart()
    const token = await t.web.engine.wait.createToken({ timeout: '1h' })
    const run = await t.web.engine.trigger(ask, token.id)
    const [parts, result] = [follow(t.web.engine, run), run.result()]
    await t.clock.advance(LOOK)
    await t.web.engine.wait.completeToken(token, 'yes')
    await t.clock.advance(LOOK)
    await t.clock.advance(LOOK)
    expect(await result).toBe('yes')
    const followed = await parts
    expect(followed.filter(([type]) => type === 'draft')).toEqual([
      ['draft', 'a'],
      ['draft', 'b'],
    ])
    expect(followed.at(-1)).toEqual(['run', 'COMPLETED'])
  })
})
