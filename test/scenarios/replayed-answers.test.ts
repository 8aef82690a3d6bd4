import { expect, it } from 'vitest'
import { once, task } from 'waitpoint'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { ask, Processes } from '../support/processes.ts'

it('a race between effects of once has the winner it had, in the order in which they were recorded', async () => {
  const effects = { first: createDeferred<void>(), second: createDeferred<void>() }
  const winners: string[] = []
  const effect = async (key: keyof typeof effects): Promise<string> =>
    once(key, async () => {
      await effects[key].promise
      return key
    })
  const race = task({
    id: 'race',
    run: async () => {
      const winner = await Promise.race([effect('first'), effect('second')])
      winners.push(winner)
      return ask(winner)
    },
  })
  const processes = new Processes()
  const { clock } = processes
  const old = await processes.next(race)
  const run = await old.trigger(race, undefined)
  await clock.settle()
  for (const key of ['second', 'first'] as const) {
    clock.pass(1)
    effects[key].resolve()
    await clock.settle()
  }
  const engine = await processes.next(race)
  await processes.answer('second')
  expect((await engine.runs.retrieve(run.id)).output).toBe('yes to second')
  expect(winners).toEqual(['second', 'second'])
  await processes.close()
})

it('a race between waits with names has the winner it had', async () => {
  const winners: string[] = []
  const race = task({
    id: 'race',
    run: async () => {
      const flow = async (name: string): Promise<string> => {
        await ask(name, name)
        return name
      }
      const winner = await Promise.race([flow('first'), flow('second')])
      winners.push(winner)
      return ask(`after ${winner}`, `after ${winner}`)
    },
  })
  const processes = new Processes()
  const old = await processes.next(race)
  const run = await old.trigger(race, undefined)
  await processes.clock.settle()
  await processes.answer('second')
  const engine = await processes.next(race)
  await processes.answer('first')
  await processes.answer('after second')
  expect((await engine.runs.retrieve(run.id)).output).toBe('yes to after second')
  expect(winners).toEqual(['second', 'second'])
  await processes.close()
})
