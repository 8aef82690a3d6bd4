import { schemaTask } from '@trigger.dev/sdk'

class Invalid extends Error {
  readonly path: string
  constructor(path: string, message: string) {
    super(message)
    this.path = path
  }
}

interface Person {
  name: string
  age: number
}

function person(value: unknown): Person {
  const { name, age } = (value ?? {}) as { name?: unknown; age?: unknown }
  if (typeof name !== 'string') throw new Invalid('name', 'name must be a string')
  return { name, age: Number(age ?? 18) }
}

/** As yup has it. */
const yup = { validateSync: (value: unknown): Person => person(value) }
/** As superstruct has it. */
const struct = { create: (value: unknown): Person => person(value) }
/** As older versions of zod have it. */
const zod3 = {
  _input: undefined as unknown as { name: string },
  _output: undefined as unknown as Person,
  parse: (value: unknown): Person => person(value),
  parseAsync: async (value: unknown): Promise<Person> => person(value),
  safeParse: (value: unknown) => ({ success: true as const, data: person(value) }),
}

const describe = async ({ name, age }: Person) => `${name}, ${age}`

export const byYup = schemaTask({ id: 'by-yup', schema: yup, run: describe })
export const byStruct = schemaTask({ id: 'by-struct', schema: struct, run: describe })
export const byZod = schemaTask({ id: 'by-zod', schema: zod3, run: describe })
export const byFunction = schemaTask({
  id: 'by-function',
  schema: async (value: unknown) => person(value),
  run: describe,
})
export const withoutSchema = schemaTask({ id: 'without-schema', run: async (payload) => typeof payload })
