import { createEngine, metadata, streams, task, wait } from 'waitpoint'
import type { Contestant } from './contest.ts'
import { turn } from './turn.ts'

const SLOTS = 10

/** One token resumes `count` runs of a queue with ten slots. */
export function resumeInLine(count: number): Contestant {
  return {
    pass: async () => {
      const ask = task({
        id: 'ask',
        queue: { concurrencyLimit: SLOTS },
        run: async (token: string) => wait.forToken(token),
      })
      const engine = createEngine({ tasks: [ask] })
      const token = await engine.wait.createToken({ timeout: '30d' })
      const runs = await Promise.all(Array.from({ length: count }, () => engine.trigger(ask, token.id)))
      do await turn()
      while (engine.stats().attempts < count || engine.stats().executing > 0)
      const start = performance.now()
      await engine.wait.completeToken(token)
      await Promise.all(runs.map((run) => run.outcome()))
      const overriddenDuration = performance.now() - start
      await engine.close()
      return { overriddenDuration }
    },
  }
}

/** A run writes a chunk to each of `count` streams, a turn apart, and a subscriber follows all of them. */
export function followStreams(count: number): Contestant {
  const chat = task({
    id: 'chat',
    run: async (_: null) => {
      for (let index = 0; index < count; index++) {
        await streams.append(`stream ${index}`, index)
        await turn()
      }
    },
  })
  const engine = createEngine({ tasks: [chat] })
  return {
    pass: async () => {
      const { id } = await engine.trigger(chat, null)
      for await (const _ of engine.runs.subscribeToRun(id).withStreams()) continue
    },
    close: () => engine.close(),
  }
}

/** A run appends `count` items to a list in its metadata. */
export function appendMetadata(count: number): Contestant {
  const log = task({
    id: 'log',
    run: async (_: null) => {
      for (let index = 0; index < count; index++) metadata.append('log', { index })
      await metadata.flush()
    },
  })
  const engine = createEngine({ tasks: [log] })
  return {
    pass: async () => (await engine.trigger(log, null)).result(),
    close: () => engine.close(),
  }
}
