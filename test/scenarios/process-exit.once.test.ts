import { describe, expect, it } from 'vitest'
import { runInChild } from '../clock/child-process.ts'

const SETUP = `
  import { createEngine, memoryStorage, task, wait } from './src/index.ts'
  const double = task({ id: 'double', run: (n) => n * 2 })
  const waiting = task({ id: 'waiting', run: async (ms) => { await wait.until({ date: new Date(Date.now() + ms) }); return 'rested' } })
  const flaky = task({
    id: 'flaky',
    retry: { maxAttempts: 2, minTimeoutInMs: 50, randomize: false },
    run: (_payload, { ctx }) => { if (ctx.attempt.number === 1) throw new Error('again'); console.log('second attempt') },
  })
  const forever = task({ id: 'forever', run: () => new Promise(() => {}) })
  const engine = createEngine({ tasks: [double, waiting, flaky, forever] })
  process.on('exit', () => console.log('exit'))
  process.on('unhandledRejection', (error) => console.log('unhandled', error))
`

async function linesOf(program: string): Promise<string[]> {
  return (await runInChild(SETUP + program)).trim().split('\n')
}

describe('a process with an engine', () => {
  it('exits by itself after a result, though the engine is still open', async () => {
    const program = `
      const run = await engine.trigger(double, 21)
      console.log(await run.result())
    `
    expect(await linesOf(program)).toEqual(['42', 'exit'])
  })

  it('exits by itself after close()', async () => {
    const program = `
      const parked = await engine.trigger(waiting, 3_600_000)
      const busy = await engine.trigger(forever, null)
      const results = Promise.allSettled([parked.result(), busy.result()])
      await new Promise((resolve) => setTimeout(resolve, 20))
      await engine.close()
      console.log((await results).map(({ reason }) => reason.code).join())
    `
    expect(await linesOf(program)).toEqual(['ERR_ENGINE_CLOSED,ERR_ENGINE_CLOSED', 'exit'])
  })

  it('is kept alive by a waiting run whose result is not awaited', async () => {
    const program = `
      engine.on('run', ({ status }) => { if (status === 'COMPLETED') console.log('completed') })
      await engine.trigger(waiting, 100)
    `
    expect(await linesOf(program)).toEqual(['completed', 'exit'])
  })

  it('is kept alive by a run that executes', async () => {
    const program = `
      const late = task({ id: 'late', run: async () => {
        await new Promise((resolve) => { const timer = setTimeout(resolve, 50); void timer })
        console.log('ran')
      } })
      const other = createEngine({ tasks: [late] })
      await other.trigger(late, undefined)
    `
    expect(await linesOf(program)).toEqual(['ran', 'exit'])
  })

  it('is kept alive by a schedule until close(), but not where nothing is executed', async () => {
    const program = `
      const ticking = task({
        id: 'ticking',
        schedule: { cron: '* * * * * *' },
        run: async () => {
          console.log('ran')
          setImmediate(() => scheduled.close())
        },
      })
      await createEngine({ tasks: [ticking], execute: false }).ready()
      console.log('ready')
      const scheduled = createEngine({ tasks: [ticking] })
      await scheduled.ready()
    `
    expect(await linesOf(program)).toEqual(['ready', 'ran', 'exit'])
  })

  it('is kept alive by a result that is awaited, also that of a run that has not started', async () => {
    const program = `
      const run = await engine.trigger(double, 1, { delay: 50 })
      run.result().then(console.log)
    `
    expect(await linesOf(program)).toEqual(['2', 'exit'])
  })

  it('is not kept alive by the deadline of a token without waiters', async () => {
    const program = `
      const token = await engine.wait.createToken({ timeout: '1h' })
      console.log(token.id.slice(0, 10))
    `
    expect(await linesOf(program)).toEqual(['waitpoint_', 'exit'])
  })

  it('is not kept alive by an engine that only is open', async () => {
    expect(await linesOf('await engine.ready()')).toEqual(['exit'])
  })

  it('is kept alive by a run that is delayed, and not any longer when that is canceled', async () => {
    const program = `
      engine.on('run', ({ status }) => { if (status === 'COMPLETED') console.log('completed') })
      await engine.trigger(double, 1, { delay: 50 })
      const never = await engine.trigger(double, 1, { delay: '1h' })
      await engine.runs.cancel(never)
    `
    expect(await linesOf(program)).toEqual(['completed', 'exit'])
  })

  it('is not kept alive any longer by a delayed run that another engine has canceled', async () => {
    const program = `
      const storage = memoryStorage()
      const [one, two] = [createEngine({ tasks: [double], storage }), createEngine({ storage })]
      const never = await one.trigger(double, 1, { delay: '1h' })
      await two.runs.cancel(never.id)
      console.log((await one.runs.retrieve(never)).status)
    `
    expect(await linesOf(program)).toEqual(['CANCELED', 'exit'])
  })

  it('sees a run through its retries', async () => {
    expect(await linesOf('await engine.trigger(flaky, null)')).toEqual(['second attempt', 'exit'])
  })
})
