import { AsyncLocalStorage } from 'node:async_hooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AnyTask, task } from 'waitpoint'
import { ask, Processes } from '../support/processes.ts'

type Ask = (name: string) => Promise<string>

/** Two flows side by side that ask two questions each. The first questions differ; `second` asks the second. */
const flows = (first: Ask, second: Ask): AnyTask =>
  task({
    id: 'flows',
    run: () =>
      Promise.all(['a', 'b'].map(async (flow) => [await first(`${flow}1`), await second(`${flow}2`)])),
  })

const named: Ask = (name) => ask(name, name)
const unnamed: Ask = (name) => ask(name)

/** Starts the run, answers these questions one after the other, and has the next process execute it again. */
async function again(
  code: AnyTask,
  answered: readonly string[],
): Promise<{ processes: Processes; id: string }> {
  const processes = new Processes()
  const engine = await processes.next(code)
  const { id } = await engine.trigger(code, undefined as never)
  await processes.clock.settle()
  for (const tag of answered) await processes.answer(tag)
  return { processes, id }
}

describe('a host whose AsyncLocalStorage has no enterWith', () => {
  const descriptors = Object.getOwnPropertyDescriptors(AsyncLocalStorage.prototype)
  const refuse = (): never => {
    throw new Error('enterWith is not implemented')
  }
  /** Calls a function with this `enterWith`. */
  const having = <T>(enterWith: unknown, call: () => T): T => {
    const before: unknown = Reflect.get(AsyncLocalStorage.prototype, 'enterWith')
    Reflect.set(AsyncLocalStorage.prototype, 'enterWith', enterWith)
    try {
      return call()
    } finally {
      Reflect.set(AsyncLocalStorage.prototype, 'enterWith', before)
    }
  }
  // As of workerd. From Node 24 on `run` itself calls `enterWith`, before and after the function.
  beforeAll(() => {
    const run = descriptors.run.value as (store: unknown, work: () => unknown) => unknown
    Reflect.set(AsyncLocalStorage.prototype, 'enterWith', refuse)
    Reflect.set(
      AsyncLocalStorage.prototype,
      'run',
      function (this: unknown, store: unknown, work: (...args: unknown[]) => unknown, ...args: unknown[]) {
        return having(descriptors.enterWith.value, () =>
          run.call(this, store, () => having(refuse, () => work(...args))),
        )
      },
    )
  })
  afterAll(() => {
    Object.defineProperties(AsyncLocalStorage.prototype, descriptors)
  })

  it.each([
    ['named ones', flows(named, named), ['a1', 'b1']],
    ['named ones, answered in another order', flows(named, named), ['b1', 'a1']],
    ['different ones without names', flows(unnamed, unnamed), ['b1', 'a1']],
  ] as const)('gives each question its own answer after a restart: %s', async (_, code, first) => {
    const { processes, id } = await again(code, first)
    const engine = await processes.next(code)
    for (const tag of ['b2', 'a2']) await processes.answer(tag)
    expect(await engine.runs.retrieve(id)).toMatchObject({
      status: 'COMPLETED',
      output: [
        ['yes to a1', 'yes to a2'],
        ['yes to b1', 'yes to b2'],
      ],
    })
    await processes.close()
  })

  it('says that equal questions of flows side by side need names', async () => {
    const code = flows(named, () => ask('same'))
    const { processes, id } = await again(code, ['a1', 'b1'])
    const engine = await processes.next(code)
    // The answer of one of them makes the run go on.
    const [token] = (await engine.wait.listTokens({ tags: 'same', status: 'WAITING' })).data
    await engine.wait.completeToken(token?.id ?? '', 'yes')
    await processes.clock.settle()
    const { status, error } = await engine.runs.retrieve(id)
    expect(status).toBe('PENDING_VERSION')
    expect(error?.message).toContain('give its waits names')
    await processes.close()
  })
})
