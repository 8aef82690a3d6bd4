import { test, expect } from 'vitest'
import { createEngine, task, wait, metadata } from 'waitpoint'
test('approval', async () => {
  const review = task({
    id: 'review',
    run: async (payload: { doc: string }) => {
      const draft = await metadata.stream(
        'draft',
        (async function* () {
          yield 'a'
          yield 'b'
        })(),
      )
      const got: string[] = []
      for await (const c of draft) got.push(c)
      const token = await wait.createToken({ timeout: '24h' })
      metadata.set('token', token.id)
      const out = await wait.forToken<{ approved: boolean }>(token).unwrap()
      return { ...out, got, doc: payload.doc }
    },
  })
  const engine = createEngine({ tasks: [review] })
  engine.on('error', (e) => console.log('ERR', e))
  const run = await engine.trigger(review, { doc: 'd1' })
  const parts: unknown[] = []
  for await (const part of engine.runs.subscribeToRun(run.id).withStreams<{ draft: string }>()) {
    if (part.type === 'run') {
      parts.push([part.run.status, part.run.metadata['token'] !== undefined])
      if (part.run.status === 'WAITING')
        await engine.wait.completeToken(part.run.metadata['token'] as string, { approved: true })
    } else parts.push(part.chunk)
  }
  console.log(JSON.stringify(parts))
  expect(await run.result()).toEqual({ approved: true, got: ['a', 'b'], doc: 'd1' })
  await engine.close()
  expect(engine.stats()).toMatchObject({ attempts: 0, executing: 0, waits: 0 })
})
