import { locals, task, type Context } from '@trigger.dev/sdk'

interface Trace {
  readonly id: string
  readonly notes: string[]
}

const traceOf = locals.create<Trace>('trace')

/** The traces that were closed. */
export const traces: string[] = []

function note(text: string): void {
  locals.get(traceOf)?.notes.push(text)
}

async function traced(ctx: Context, next: () => Promise<void>): Promise<void> {
  const trace = locals.set(traceOf, { id: `${ctx.task.id}/${ctx.attempt.number}`, notes: [] })
  try {
    await next()
  } finally {
    traces.push(`${trace.id}: ${trace.notes.join(' ')}`)
  }
}

/** A function far below notes something in what the middleware has set. */
export const convert = task({
  id: 'convert',
  retry: { maxAttempts: 2, minTimeoutInMs: 10, factor: 1 },
  run: async ({ values }: { values: number[] }, { ctx }) => {
    note(`begin`)
    if (values.length > ctx.attempt.number) throw new Error('too many')
    note(`${values.length}`)
    return values.map((value) => value * 1.8 + 32)
  },
  middleware: async ({ ctx, next }) => traced(ctx, next),
  onSuccess: () => note('success'),
  cleanup: () => note('cleanup'),
})
