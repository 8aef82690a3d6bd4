import { expect, it } from 'vitest'
import { createEngine, once, streams, task, wait } from 'waitpoint'
import { projectStorage } from '../../support/abandon.ts'
import { until } from '../../support/turn.ts'

const inbox = streams.input<string>({ id: 'messages' })

const asked: string[] = []

const everything = task({
  id: 'everything',
  run: async () => {
    await once('effect', () => 1)
    const token = await wait.createToken({ name: 'token', idempotencyKey: 'key' })
    asked.push(token.id)
    await wait.forToken(token)
    await wait.for({ seconds: 0, idempotencyKey: 'sleep' })
    await inbox.wait()
    await inbox.peek()
    await inbox.take({ max: 1 })
    await inbox.wait({ idempotencyKey: 'message' })
    await once('another effect', () => 2)
  },
})

// A storage in memory keeps the records of a kind in order of their ids: one that is not the last moves all behind it.
it('records of a kind that a run makes have ids in the order in which they were made', async () => {
  const storage = projectStorage()
  await using engine = createEngine({ tasks: [everything], storage })
  const run = await engine.trigger(everything)
  const sent = engine.streams.input<string>({ id: inbox.id })
  for (const text of ['one', 'two', 'three']) await sent.send(run, text, { idempotencyKey: text })
  await until(() => asked.length > 0)
  await engine.wait.completeToken(asked[0]!)
  await run.result()
  const { tokens } = await storage.runs.asked(run.id)
  const names = new Set(tokens.map(({ kind, id }) => `${kind} ${id.slice(0, id.indexOf('_'))}`))
  expect([...names].sort()).toEqual(['INPUT input', 'ONCE once'])
})
