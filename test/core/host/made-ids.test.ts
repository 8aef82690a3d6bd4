import { describe, expect, it } from 'vitest'
import { createEngine, memoryStorage, task } from 'waitpoint'
import type { RunRecord } from '../../../src/contract/records.ts'
import { timeOfId } from '../../../src/primitives/id.ts'

const START = Date.UTC(2026, 0, 1)

describe('an engine whose clock steps back', () => {
  it('counts on in ids and in createdAt, and delays by the clock', async () => {
    let now = START
    const storage = memoryStorage()
    const clock = { now: () => now, setTimer: () => () => undefined }
    const greet = task({ id: 'greet', run: () => 'hello' })
    await using engine = createEngine({ tasks: [greet], execute: false, storage, clock })
    const made: string[] = []
    const tokens: string[] = []
    for (const at of [0, 60_000, 5_000, 5_000, 90_000]) {
      now = START + at
      made.push((await engine.trigger(greet, undefined, { delay: '1s' })).id)
      tokens.push((await engine.wait.createToken({ timeout: '1s' })).id)
    }
    const instants = [0, 60_000, 60_000, 60_000, 90_000].map((at) => START + at)
    const read: (RunRecord | undefined)[] = []
    for (const id of made) read.push(await storage.runs.get(id))
    expect(read.map((run) => run?.createdAt)).toEqual(instants)
    expect(made.map((id) => timeOfId('run', id))).toEqual(instants)
    expect(read.map((run) => run?.wakeAt)).toEqual([1, 61, 6, 6, 91].map((s) => START + s * 1_000))
    expect(tokens.map((id) => timeOfId('waitpoint', id))).toEqual(instants)
    const { data } = await engine.runs.list({ from: START + 1, to: START + 60_000 })
    expect(data.map(({ id }) => id)).toEqual(made.slice(1, 4).reverse())
    const waiting = await engine.wait.listTokens({ to: START + 60_000 })
    expect(waiting.data.map(({ id }) => id)).toEqual(tokens.slice(0, 4).reverse())
  })
})
