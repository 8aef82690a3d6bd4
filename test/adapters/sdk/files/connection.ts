import { task, wait } from '@trigger.dev/sdk'

interface Connection {
  readonly name: string
  isOpen: boolean
}

interface Copied {
  from: string
  fails?: boolean
}

export const connections: string[] = []

const connect = (name: string): Connection => ({ name, isOpen: true })

/** A connection for each attempt; what `init` answers has its type in every hook. */
export const copy = task({
  id: 'copy-table',
  run: async ({ from, fails }: Copied, { init }) => {
    if (!init) throw new Error('there is no connection')
    if (fails) throw new Error(`${init.from.name} is locked`)
    return init.from.isOpen && init.to.isOpen ? from.length : 0
  },
  init: async ({ payload }) => ({ from: connect(payload.from), to: connect('target') }),
  onStart: async ({ init }) => {
    connections.push(`start ${init?.from.isOpen}`)
  },
  onSuccess: async ({ init, output }) => {
    connections.push(`${output} rows from ${init?.from.name}`)
  },
  onFailure: async ({ init, error }) => {
    connections.push(`${init?.to.name}: ${error instanceof Error ? error.message : ''}`)
  },
  cleanup: async ({ init, payload }) => {
    if (init) init.from.isOpen = false
    connections.push(`closed ${payload.from} ${init?.from.isOpen}`)
  },
})

/** Stopped while it waits: the rest is done by the hook, which may wait for the function. */
export const watch = task({
  id: 'watch-table',
  init: () => ({ connection: connect('watched') }),
  run: async (_: { table: string }, { init, signal }) => {
    const stopped = new Promise<string>((resolve) => {
      signal.addEventListener('abort', () => resolve(`${init?.connection.name} stopped`), { once: true })
    })
    await Promise.race([stopped, wait.for({ weeks: 1 })])
    return stopped
  },
  onCancel: async ({ init, runPromise, payload }) => {
    connections.push(`canceled ${payload.table} ${init?.connection.name} ${await runPromise}`)
  },
})
