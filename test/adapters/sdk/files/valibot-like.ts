import { schemaTask } from '@trigger.dev/sdk'

interface Schema<In, Out> {
  readonly read: (value: In) => Out
  readonly _types?: { readonly input: In; readonly output: Out }
}

/** A function that knows its schema, as `parser` of valibot gives it. */
function parser<In, Out>(schema: Schema<In, Out>) {
  return Object.assign((value: unknown): Out => schema.read(value as In), { schema })
}

const period = parser({
  read: ({ from, days }: { from: string; days?: number }) => {
    if (Number.isNaN(Date.parse(from))) throw new RangeError(`no date: ${from}`)
    return { from: new Date(from), days: days ?? 1 }
  },
})

export const period1 = schemaTask({
  id: 'period',
  schema: period,
  run: async ({ from, days }) => new Date(from.getTime() + days * 86_400_000),
})

/** What is given differs from what the function gets. */
export const begin = async (from: string) => (await period1.trigger({ from })).id
