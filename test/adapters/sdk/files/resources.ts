import { locals, task } from '@trigger.dev/sdk'

class Pool {
  readonly url: string
  isOpen = true
  constructor(url: string) {
    this.url = url
  }
  async query(sql: string): Promise<string> {
    if (!this.isOpen) throw new Error('the pool is closed')
    return `${sql} on ${this.url}`
  }
}

/** The life of the pools. */
export const life: string[] = []

const poolKey = locals.create<Pool>('pool')

function pool(): Pool {
  return locals.getOrThrow(poolKey)
}

/** A resource for each attempt, made and given back by middleware. */
export const querying = task({
  id: 'querying',
  retry: { maxAttempts: 2, minTimeoutInMs: 100 },
  run: async ({ fails }: { fails: number }, { ctx }) => {
    if (ctx.attempt.number <= fails) throw new Error('deadlock')
    return pool().query('select')
  },
  middleware: async ({ next, payload }) => {
    const made = locals.set(poolKey, new Pool('db'))
    life.push('opened')
    try {
      await next()
    } finally {
      made.isOpen = false
      life.push(`closed after ${JSON.stringify(payload)}`)
    }
  },
  onStart: async () => {
    life.push(await pool().query('begin'))
  },
  onSuccess: async ({ output }) => {
    life.push(`success ${output} ${pool().isOpen}`)
  },
  onFailure: async () => {
    life.push(`failure ${pool().isOpen}`)
  },
})

/** An older way, with the options `init` and `cleanup`. */
export const initialized = task({
  id: 'initialized',
  run: async (payload: { url: string; fails?: boolean }, { init }) => {
    if (payload.fails) throw new Error('failed on purpose')
    return `${await init?.pool.query('select')} ${init?.startedAt}`
  },
  init: async () => ({ pool: new Pool('db'), startedAt: 1 }),
  cleanup: async ({ init }) => {
    life.push(`cleanup of ${init?.pool.url}`)
  },
})
