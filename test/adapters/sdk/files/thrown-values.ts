import { task } from '@trigger.dev/sdk'

class HttpError extends Error {
  readonly status: number
  constructor(status: number, options?: ErrorOptions) {
    super(`status ${status}`, options)
    this.name = 'HttpError'
    this.status = status
  }
}

/** The errors that the hooks have got. */
export const caught: string[] = []

const thrown = {
  text: () => 'only a text',
  subclass: () => new HttpError(503, { cause: new Error('socket hang up') }),
  aggregate: () => new AggregateError([new Error('a'), new Error('b')], 'both failed'),
  plain: () => new Error(''),
  range: () => new RangeError('out of range'),
}

export const throwing = task({
  id: 'throwing-values',
  run: async ({ what }: { what: keyof typeof thrown }): Promise<void> => {
    throw thrown[what]()
  },
  onFailure: async ({ error }) => {
    caught.push(error instanceof Error ? `${error.name}: ${error.message}` : String(error))
  },
  onComplete: async ({ result }) => {
    caught.push(result.ok ? 'ok' : `not ok: ${result.error instanceof Error}`)
  },
})
