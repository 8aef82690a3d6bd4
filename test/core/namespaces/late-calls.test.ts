import { expect, it } from 'vitest'
import { createEngine, type Engine, task, wait } from 'waitpoint'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { projectStorage } from '../../support/abandon.ts'

const plan = { task: 'keyed', cron: '0 5 * * *', deduplicationKey: 'plan' }

const CALLS: Readonly<Record<string, (engine: Engine) => Promise<unknown>>> = {
  'runs.resetIdempotencyKey': (engine) => engine.runs.resetIdempotencyKey('keyed', 'k'),
  'queue.pause': (engine) => engine.queue('mail').pause(),
  'queue.setLimit': (engine) => engine.queue('mail').setLimit(3),
  'schedules.create': (engine) => engine.schedules.create(plan),
}

/** What the calls change. */
async function stateOf(engine: Engine): Promise<unknown> {
  const held = await engine.tasks.trigger('keyed', undefined, { idempotencyKey: 'k' })
  const { isPaused, limit } = await engine.queue('mail').retrieve()
  return { held: held.isCached, isPaused, limit, schedules: (await engine.schedules.list()).length }
}

const KEPT = { held: true, isPaused: false, limit: undefined, schedules: 0 }

it.each(Object.keys(CALLS))('has no effect once its attempt has lost the run to another engine: %s', (name) =>
  withEngine({ isTaken: true }, name, (state) => expect(state).toEqual(KEPT)),
)

it.each(Object.keys(CALLS))('has its effect while its attempt holds the run: %s', (name) =>
  withEngine({ isTaken: false }, name, (state) => expect(state).not.toEqual(KEPT)),
)

it('of a parked run resumes the queue that keeps it parked', async () => {
  const parked = createDeferred<void>()
  const caller = task({
    id: 'caller',
    queue: { name: 'mail' },
    run: async () => {
      const mail = t.engine.queue('mail')
      await mail.pause()
      await Promise.all([wait.for({ minutes: 1 }), parked.promise.then(() => mail.resume())])
    },
  })
  await using t = await createTestEngine({ tasks: [caller] })
  const run = await t.engine.trigger(caller)
  await t.clock.advance('2m')
  expect((await t.engine.runs.retrieve(run)).status).toBe('WAITING')
  parked.resolve()
  await run.result()
})

async function withEngine(
  { isTaken }: { readonly isTaken: boolean },
  name: string,
  check: (state: unknown) => void,
): Promise<void> {
  const storage = projectStorage()
  const clock = testClock()
  const keyed = task({ id: 'keyed', schedule: { catchUp: 'none' }, run: async () => undefined })
  const caller = task({
    id: 'caller',
    run: async (_: undefined, { ctx }) => {
      if (isTaken) {
        const { epoch = 0 } = (await storage.runs.get(ctx.run.id)) ?? {}
        const expected = { status: ['EXECUTING'], epoch } as const
        const change = { status: 'EXECUTING', epoch: epoch + 1 } as const
        await storage.runs.update({ id: ctx.run.id, expected, change, by: 'another', now: clock.now() })
      }
      await CALLS[name]?.(engine)
    },
  })
  await using engine = createEngine({ tasks: [keyed, caller], storage, clock })
  await engine.tasks.trigger('keyed', undefined, { idempotencyKey: 'k' })
  await engine.trigger(caller)
  await clock.settle()
  check(await stateOf(engine))
}
