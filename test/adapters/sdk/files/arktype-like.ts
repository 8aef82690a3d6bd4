import { schemaTask } from '@trigger.dev/sdk/v3'

interface Point {
  x: number
  y: number
}

/** A type that is a function, with `assert` and what it infers, as arktype has it. */
const point = Object.assign((value: unknown): Point => point.assert(value), {
  infer: undefined as unknown as Point,
  inferIn: undefined as unknown as Point,
  assert: (value: unknown): Point => {
    const { x, y } = (value ?? {}) as Partial<Point>
    if (typeof x !== 'number' || typeof y !== 'number') throw new Error('x and y must be numbers')
    return { x, y }
  },
})

export const distance = schemaTask({
  id: 'distance',
  schema: point,
  ttl: 600,
  run: async ({ x, y }) => Math.hypot(x, y),
})
