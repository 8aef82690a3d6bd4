import { expect, it } from 'vitest'
import { once, task } from 'waitpoint'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { ask, Processes } from '../support/processes.ts'

it('an answer that comes while an engine lets an effect end reaches its run on the next engine', async () => {
  const effect = createDeferred<void>()
  const busy = task({ id: 'busy', run: async () => once('effect', () => effect.promise) })
  const patient = task({ id: 'patient', run: async () => ask('manager') })
  const processes = new Processes()
  const { clock } = processes
  const old = await processes.next(busy, patient)
  await old.trigger(busy, undefined)
  const { id } = await old.trigger(patient, undefined)
  await clock.settle()
  const closed = old.close()
  await clock.settle()

  const next = await processes.beside(busy, patient)
  await processes.answer('manager')
  effect.resolve()
  await clock.settle()
  await closed
  await clock.settle()
  expect((await next.runs.retrieve(id)).output).toBe('yes to manager')
  await processes.close()
})
