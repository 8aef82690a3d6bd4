import { schemaTask } from '@trigger.dev/sdk'
import { z } from 'zod'

export const register = schemaTask({
  id: 'register',
  schema: z.object({ email: z.string(), age: z.coerce.number(), isActive: z.boolean().default(true) }),
  run: async ({ email, age, isActive }) => ({ email: email.toLowerCase(), next: age + 1, isActive }),
})

/** A schema of an older make: it only has `parse`. */
const text = {
  parse: (value: unknown): string => {
    if (typeof value !== 'string') throw new Error('a text is expected')
    return value.trim()
  },
}

export const trim = schemaTask({ id: 'trim', schema: text, run: async (payload) => payload.length })

/** A function is a schema, too. */
export const double = schemaTask({
  id: 'double',
  schema: (value: unknown) => Number(value),
  run: async (payload) => payload * 2,
})

export const welcome = schemaTask({
  id: 'welcome',
  schema: z.object({ email: z.string(), age: z.number() }),
  run: async (payload) => {
    const registered = await register.triggerAndWait({ email: payload.email, age: payload.age }).unwrap()
    return registered.next
  },
})
