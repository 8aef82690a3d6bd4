import { AsyncResource } from 'node:async_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { ContextValue } from '../../../src/testing/witness/context-value.ts'

const color = new ContextValue<string>()
const size = new ContextValue<number>()

test('code has the values it runs with, and so does all that it starts', async () => {
  const seen = color.run('red', () => size.run(3, async () => [color.get(), await afterAll(size)]))

  expect(await seen).toEqual(['red', 3])
  expect(color.get()).toBeUndefined()
  expect(size.get()).toBeUndefined()
})

test('the inner of two values counts, and the outer one again behind it', () => {
  const seen = color.run('red', () => [color.run('blue', () => color.get()), color.get()])

  expect(seen).toEqual(['blue', 'red'])
})

test('a value stays beside an inner value of another kind', () => {
  const seen = color.run('red', () => size.run(1, () => color.run('blue', () => [color.get(), size.get()])))

  expect(seen).toEqual(['blue', 1])
})

test('code inside of older code of its kind keeps nothing of that', async () => {
  const held = new ContextValue<object>()
  const inner = {}
  const { kept, outer } = keepContext(held, inner)

  await new Promise((resolve) => setImmediate(resolve))
  collectGarbage()

  expect(outer.deref()).toBeUndefined()
  expect(kept.runInAsyncScope(() => [held.get(), size.get()])).toEqual([inner, 1])
})

/** The context of code with an inner value, within a value of another kind, within an outer one. */
function keepContext(
  held: ContextValue<object>,
  inner: object,
): { kept: AsyncResource; outer: WeakRef<object> } {
  const value = {}
  const kept = held.run(value, () => size.run(1, () => held.run(inner, () => new AsyncResource('kept'))))
  return { kept, outer: new WeakRef(value) }
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
}

async function afterAll<Value>(value: ContextValue<Value>): Promise<Value | undefined> {
  await Promise.resolve()
  return value.get()
}
