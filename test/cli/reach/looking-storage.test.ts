import { describe, expect, it } from 'vitest'
import { createEngine, task, wait } from 'waitpoint'
import { testClock } from 'waitpoint/testing'
import { lookingStorage } from '../../../src/cli/reach/looking-storage.ts'
import { projectStorage } from '../../support/abandon.ts'

const DAY_MS = 86_400_000

const ask = task({
  id: 'ask',
  run: async () => wait.forToken(await wait.createToken({ timeout: '60d' })).unwrap(),
})
const greet = task({ id: 'greet', run: async () => 'hello' })

describe('lookingStorage', () => {
  it('forgets, settles and executes nothing, however long an engine looks', async () => {
    const clock = testClock()
    const storage = projectStorage()
    const app = createEngine({ tasks: [ask, greet], storage, clock })
    const asked = await app.trigger(ask, undefined)
    const greeted = await app.trigger(greet, undefined)
    await greeted.result()
    await clock.settle()
    await app.close()

    await using looking = createEngine({ storage: lookingStorage(storage), clock, execute: false })
    const late = await looking.wait.createToken({ timeout: '1d' })
    await looking.ready()
    await clock.advance(45 * DAY_MS)
    expect((await looking.runs.retrieve(greeted)).status).toBe('COMPLETED')
    expect((await looking.runs.retrieve(asked)).status).toBe('WAITING')
    // Deadlines are met where a token is read.
    expect((await looking.wait.retrieveToken(late)).status).toBe('TIMED_OUT')
  })
})
