// A user's first program. scripts/packed.mjs type-checks and runs it against the packed package.
import { inspect } from 'node:util'
import { createEngine, task, type Engine } from 'waitpoint'
import { createHandler } from 'waitpoint/http'
import { runs, task as hostedTask } from 'waitpoint/sdk'
import { createTestEngine } from 'waitpoint/testing'

const greet = task({ id: 'greet', run: async (payload: { name: string }) => `Hello ${payload.name}` })

const engine: Engine = createEngine({ tasks: [greet] })
const run = await engine.trigger(greet, { name: 'Ada' })
const output: string = await run.result()
const handles = [run, await engine.wait.createToken()]
const printed = handles.map((handle) => inspect(handle).split(' ', 1)[0])
// @ts-expect-error -- the payload is inferred from the task
const misspelt = (): unknown => engine.trigger(greet, { nmae: 'Ada' })

const handler: (request: Request) => Promise<Response> = createHandler(engine)
const { status } = await handler(new Request('http://localhost/nowhere'))

const later = hostedTask({ id: 'later', run: async (payload: { at: Date }) => payload.at.getTime() })
const fixture = await createTestEngine({ tasks: [greet, later] })
fixture.engine.makeDefault()
const { id } = await later.trigger({ at: new Date(1) })
const { output: instant } = await runs.poll<typeof later>(id)
const fail = task({
  id: 'fail',
  retry: { maxAttempts: 1 },
  run: (_payload: undefined): Promise<string> => {
    throw new Error('no')
  },
})
const failing = createEngine({ tasks: [fail] })
const failed = await failing.trigger(fail, undefined)
const outcome = await failed.outcome()
const thrown: unknown = await failed.result().catch((reason: unknown) => reason)
const { error } = await failing.runs.retrieve(failed)
await failing.close()
await fixture.close()
await engine.close()
// A bundler puts an underscore in front of a class that names itself.
if (printed.some((name) => name?.startsWith('_')))
  throw new Error(`Cannot print handles as ${printed.join(' and ')}`)
if (error?.stack?.includes('main.') !== true || error.stack.includes('node_modules'))
  throw new Error(`Cannot see where a task has failed: ${error?.stack}`)
for (const reason of [outcome.ok ? undefined : outcome.error, thrown])
  if (!(reason instanceof Error) || reason.stack?.includes('node_modules') !== false)
    throw new Error('Cannot see which call has failed: the frames of the engine are above', { cause: reason })
console.log(printed.join(), output, status, typeof misspelt, instant?.toFixed())
